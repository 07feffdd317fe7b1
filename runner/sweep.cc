#include "runner/sweep.h"

#include <algorithm>

#include "base/error.h"
#include "base/number_text.h"
#include "record/choice.h"
#include "record/decoding.h"
#include "record/question.h"
#include "runner/search.h"
#include "runner/sweep_changes.h"

namespace draftlab {
namespace {

namespace fs = std::filesystem;

// Above this a grid is a slip of the keyboard: nothing here finishes so many trainings.
constexpr double kMostRuns = 100000;

std::string element(const std::string& where, size_t index) {
  return where + "[" + std::to_string(index) + "]";
}

std::string name_of(Fields& fields) {
  const std::string name = fields.text("name");
  if (name.find_first_not_of(" \t\r\n") == std::string::npos) {
    throw Error(fields.where("name"), "is empty; give it a name");
  }
  return name;
}

void read_store(const Json& value, const std::string& where, const fs::path& base, Sweep& sweep) {
  Fields fields(value, where);
  if (fields.has("specification") == fields.has("folder")) {
    throw Error(where, "give either \"specification\": FILE or \"folder\": FOLDER");
  }
  const bool built = fields.has("folder");
  const std::string key = built ? "folder" : "specification";
  const std::string path = fields.text(key);
  fields.finish();
  if (path.empty()) throw Error(fields.where(key), "is empty; name a path");
  (built ? sweep.store_folder : sweep.store_specification) = (base / path).lexically_normal();
}

Seeds read_seeds(const Json& value, const std::string& where) {
  if (value.is_object()) {
    Fields fields(value, where);
    const Seeds seeds{fields.integer("weights"), fields.integer("data"), fields.integer("noise")};
    fields.finish();
    require_at_least(seeds.weights, 0, fields.where("weights"));
    require_at_least(seeds.data, 0, fields.where("data"));
    require_at_least(seeds.noise, 0, fields.where("noise"));
    return seeds;
  }
  if (!value.is_int64()) {
    throw Error(where,
                "must be a whole number or {\"weights\": A, \"data\": B, \"noise\": C}, is " +
                    canonical(value));
  }
  require_at_least(static_cast<double>(value.get_int64()), 0, where);
  return {value.get_int64(), value.get_int64(), value.get_int64()};
}

std::vector<Seeds> read_seed_list(const JsonArray& list, const std::string& where) {
  if (list.empty()) throw Error(where, "is an empty list; give at least one seed");
  std::vector<Seeds> seeds;
  for (const Json& value : list) {
    const std::string here = element(where, seeds.size());
    const Seeds next = read_seeds(value, here);
    for (size_t i = 0; i < seeds.size(); ++i) {
      if (seeds[i] == next) {
        throw Error(here, "is the same seed as " + element("seeds", i) +
                              "; equal runs are no repetition, remove one");
      }
    }
    seeds.push_back(next);
  }
  return seeds;
}

TuningProtocol read_tuning(const Json& value, const std::string& where, const Sweep& sweep) {
  Fields fields(value, where);
  TuningProtocol tuning{read_seed_list(fields.array("seeds"), fields.where("seeds")),
                        fields.integer("extend", fields.has("halving") ? 0 : 2),
                        fields.integer("trials", 0),
                        fields.integer("search_seed", 1),
                        {}};
  if (fields.has("trials"))
    require_between(static_cast<double>(tuning.trials), 1, 10000, fields.where("trials"));
  require_at_least(static_cast<double>(tuning.search_seed), 0, fields.where("search_seed"));
  require_between(static_cast<double>(tuning.extend), 0, 10, fields.where("extend"));
  if (fields.has("halving")) {
    tuning.halving = read_halving(fields.any("halving"), fields.where("halving"));
    if (tuning.extend > 0) {
      throw Error(
          fields.where("extend"),
          "cannot go with \"halving\": a grid is extended by comparing its ends, which most "
          "trials do not reach; widen the grid or search a range");
    }
  }
  fields.finish();
  for (size_t i = 0; i < tuning.seeds.size(); ++i) {
    if (std::find(sweep.seeds.begin(), sweep.seeds.end(), tuning.seeds[i]) == sweep.seeds.end())
      continue;
    throw Error(element(fields.where("seeds"), i),
                "is one of \"seeds\" too; the runs that count need fresh seeds, since luck that "
                "chose a setting would count again");
  }
  if (sweep.split.tuning == 0) {
    throw Error(where, "needs sequences to choose on; give \"split\" a \"tuning\" part");
  }
  return tuning;
}

// Where one arm has more trials, its best is better by luck alone.
void require_equal_trials(const std::vector<SweepArm>& arms) {
  for (const SweepArm& arm : arms) {
    if (arm.points.size() == arms[0].points.size()) continue;
    throw Error(arm.where + ".optimizer", "has " + std::to_string(arm.points.size()) +
                                              " settings to try, '" + arms[0].name + "' has " +
                                              std::to_string(arms[0].points.size()) +
                                              "; with \"tuning\" every arm gets as many trials");
  }
}

TargetLevel read_target(const Json& value, const std::string& where) {
  Fields fields(value, where);
  TargetLevel target{fields.text("metric"), fields.number("value")};
  fields.finish();
  require_one_of(target.metric, {"val_loss", "acceptance_length"}, fields.where("metric"));
  if (target.metric == "val_loss") {
    require_between(target.value, 0, 1e6, fields.where("value"));
  } else {
    require_between(target.value, 1, 1e6, fields.where("value"));  // the free token counts as one
  }
  return target;
}

// The combinations of all lists in `value`, before equal ones collapse.
double grid_size(const Json& value) {
  if (const auto* list = value.if_array()) return static_cast<double>(list->size());
  double size = 1;
  if (const auto* object = value.if_object()) {
    for (const auto& field : *object) size *= grid_size(field.value());
  }
  return size;
}

// What the sweep says for all arms, as read.
struct Common {
  JsonObject drafter, training, evaluation;
  std::string where;  // of the sweep
};

// The object `key` of all arms, and over it what the arm says itself.
JsonObject own_or_common(Fields& fields, const char* key, JsonObject common) {
  if (!fields.has(key)) return common;
  const JsonObject* own = fields.any(key).if_object();
  if (own == nullptr)
    throw Error(fields.where(key), "must be an object with keys of \"" + std::string(key) + "\"");
  for (const auto& field : *own) common[field.key()] = field.value();
  return common;
}

std::string place(Fields& fields, const char* key, const Common& common) {
  return fields.has(key) ? fields.where(key) : common.where + ": " + key;
}

// The training, and the evaluation for as many steps: what lies behind the end of a shorter
// training is left out.
void read_training(Fields& fields, const Common& common, SweepArm& arm) {
  const std::string where = arm.training_where = place(fields, "training", common);
  JsonObject evaluation = common.evaluation;
  arm.training = parse_training(own_or_common(fields, "training", common.training), where);
  const double steps = static_cast<double>(arm.training.steps);
  if (Json* at = evaluation.if_contains("at")) {
    JsonArray early;
    for (const Json& step : at->get_array()) {
      if (json_number(step, where) <= steps) early.push_back(step);
    }
    *at = std::move(early);
  } else if (json_number(evaluation.at("every"), where) > steps) {
    evaluation["every"] = arm.training.steps;
  }
  arm.evaluation = parse_evaluation(evaluation, where, arm.training.steps);
}

// The optimizers of an arm: each combination of its lists, or as many points of its ranges as the
// tuning says.
std::vector<OptimizerConfig> read_optimizers(const Json& value, const std::string& where,
                                             const std::optional<TuningProtocol>& tuning,
                                             std::vector<std::string>& notices) {
  if (!has_search(value)) return parse_optimizer_grid(value, where, notices);
  if (!tuning || tuning->trials == 0) {
    throw Error(
        where,
        "has a range to search; say in \"tuning\": {\"seeds\": [...], \"trials\": N} how many "
        "points every arm tries");
  }
  std::vector<OptimizerConfig> optimizers;
  for (const Json& point : search_points(value, tuning->trials, tuning->search_seed, where))
    optimizers.push_back(parse_optimizer_config(point, where));
  return optimizers;
}

// The arm with the steps that fit the budget of a comparison at equal seconds.
Json with_own_steps(const Json& arm, const std::string& where, const Sweep& sweep) {
  if (!sweep.equal_seconds || !sweep.equal_seconds->is_resolved() || !arm.is_object()) return arm;
  const Json* name = arm.get_object().if_contains("name");
  if (name == nullptr || !name->is_string()) return arm;  // read_arm says so
  Json own = arm;
  Json& training = own.as_object()["training"];
  if (!training.is_object()) training = JsonObject();
  training.as_object()["steps"] =
      sweep.equal_seconds->steps(std::string(name->get_string()), where);
  return own;
}

// Every rung is evaluated, and no re-warm-up runs over it, since it would begin anew there.
void fit_rungs(const Halving& halving, SweepArm& arm) {
  const int64_t steps = arm.training.steps;
  std::vector<int64_t>& evaluated = arm.evaluation.steps;
  int64_t before = 0;
  for (size_t rung = 0; rung < halving.at.size(); ++rung) {
    const int64_t step = halving.step(rung, steps);
    const std::string what = "rung " + std::to_string(rung + 1) + " of tuning.halving";
    if (step <= before) {
      throw Error(arm.where, what + " falls on step " + std::to_string(step) +
                                 ", which is not behind the one before it; train for more steps or "
                                 "take rungs away");
    }
    before = step;
    for (const ArmPoint& point : arm.points) {
      for (const Stage& stage : point.stages) {
        if (stage.from_step >= step || step >= stage.from_step + stage.start.rewarmup) continue;
        throw Error(arm.where, what + " falls on step " + std::to_string(step) +
                                   ", into the re-warm-up from step " +
                                   std::to_string(stage.from_step) + "; move one of them");
      }
    }
    const auto at = std::ranges::lower_bound(evaluated, step);
    if (at == evaluated.end() || *at != step) evaluated.insert(at, step);
  }
}

SweepArm read_arm(const Json& value, const std::string& where, const Common& common,
                  const Sweep& sweep, std::vector<std::string>& notices) {
  Fields fields(value, where);
  SweepArm arm;
  arm.where = where;
  arm.name = name_of(fields);
  arm.drafter = own_or_common(fields, "drafter", common.drafter);
  arm.drafter_where = place(fields, "drafter", common);
  read_training(fields, common, arm);
  const Json& optimizer = fields.any("optimizer");
  const JsonArray switches = fields.has("switches") ? fields.array("switches") : JsonArray();
  arm.searched = has_search(optimizer);
  double runs = static_cast<double>(sweep.seeds.size()) * (arm.searched ? 1 : grid_size(optimizer));
  for (const Json& each : switches) runs *= grid_size(each);
  if (runs > kMostRuns) {
    throw Error(fields.where("optimizer"), "its lists make more than " +
                                               grouped(static_cast<long long>(kMostRuns)) +
                                               " runs; shorten them");
  }
  std::vector<RoutingRule> routing;
  if (fields.has("routing"))
    routing = parse_routing(fields.any("routing"), fields.where("routing"));
  arm.points =
      arm_points(read_optimizers(optimizer, fields.where("optimizer"), sweep.tuning, notices),
                 routing, switches, arm.training, where, notices);
  fields.finish();
  if (sweep.tuning && sweep.tuning->halving) fit_rungs(*sweep.tuning->halving, arm);
  return arm;
}

}  // namespace

Sweep parse_sweep(const Json& content, const fs::path& file) {
  Sweep sweep;
  sweep.file = fs::absolute(file).lexically_normal();
  sweep.content = content;
  Fields fields(content, file.string());
  sweep.name = name_of(fields);
  read_store(fields.any("store"), fields.where("store"), sweep.file.parent_path(), sweep);
  const TrainingConfig training = parse_training(fields.any("training"), fields.where("training"));
  parse_evaluation(fields.any("evaluation"), fields.where("evaluation"), training.steps);
  [[maybe_unused]] const Fields drafter(fields.any("drafter"),
                                        fields.where("drafter"));  // an object
  const Common common{fields.any("drafter").get_object(), fields.any("training").get_object(),
                      fields.any("evaluation").get_object(), file.string()};
  sweep.split = parse_split(fields.any("split"), fields.where("split"));
  sweep.seeds = read_seed_list(fields.array("seeds"), fields.where("seeds"));
  if (fields.has("tuning")) {
    sweep.tuning = read_tuning(fields.any("tuning"), fields.where("tuning"), sweep);
  }
  if (fields.has("target")) {
    sweep.target = read_target(fields.any("target"), fields.where("target"));
  }
  sweep.checkpoint_every = fields.integer("checkpoint_every", sweep.checkpoint_every);
  require_at_least(static_cast<double>(sweep.checkpoint_every), 1,
                   fields.where("checkpoint_every"));

  if (fields.has("compare"))
    sweep.equal_seconds = parse_equal_seconds(fields.any("compare"), fields.where("compare"));

  const JsonArray& arms = fields.array("arms");
  if (arms.empty()) throw Error(fields.where("arms"), "is an empty list; give at least one arm");
  for (const Json& value : arms) {
    const std::string where = element(fields.where("arms"), sweep.arms.size());
    SweepArm arm =
        read_arm(with_own_steps(value, where, sweep), where, common, sweep, sweep.notices);
    if (sweep.equal_seconds && arm.points[0].stages.size() > 1) {
      throw Error(where + ".switches",
                  "cannot go with \"compare\": \"seconds\", since a step then takes two times; "
                  "compare runs from the start");
    }
    for (size_t i = 0; i < sweep.arms.size(); ++i) {
      if (sweep.arms[i].name != arm.name) continue;
      throw Error(where + ".name",
                  "'" + arm.name + "' is also the name of " + element("arms", i) + "; rename one");
    }
    sweep.arms.push_back(std::move(arm));
  }
  if (sweep.equal_seconds) {
    for (const auto& timed : sweep.equal_seconds->step_seconds) {
      if (std::ranges::find(sweep.arms, timed.first, &SweepArm::name) != sweep.arms.end()) continue;
      throw Error(fields.where("compare") + ".step_seconds." + timed.first,
                  "is no arm of this sweep");
    }
  }
  if (fields.has("questions")) {
    std::vector<std::string> names;
    for (const SweepArm& arm : sweep.arms) names.push_back(arm.name);
    parse_questions(fields.any("questions"), fields.where("questions"), names,
                    sweep.target.metric.empty() ? kUsualMetric : sweep.target.metric);
  }
  if (fields.has("decode")) parse_decoding_settings(fields.any("decode"), fields.where("decode"));
  if (fields.has("same")) {
    const double same = fields.number("same");
    if (!(same > 0))
      throw Error(fields.where("same"), "must be above 0: a difference that is none");
  }
  if (sweep.tuning) require_equal_trials(sweep.arms);
  const auto is_searched = [](const SweepArm& arm) { return arm.searched; };
  if (sweep.tuning && sweep.tuning->trials > 0 && std::ranges::none_of(sweep.arms, is_searched)) {
    throw Error(
        file.string() + ": tuning.trials",
        "says nothing: no arm has a range to search; the lists of the arms are their trials");
  }
  fields.finish();
  return sweep;
}

Sweep read_sweep(const fs::path& file, const std::vector<std::string>& changes) {
  Sweep sweep = parse_sweep(with_changes(read_json(file), changes), file);
  sweep.changes = changes;
  return sweep;
}

}  // namespace draftlab

#include "runner/sweep.h"

#include <algorithm>

#include "base/error.h"
#include "base/number_text.h"

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
      if (seeds[i].weights == next.weights && seeds[i].data == next.data &&
          seeds[i].noise == next.noise) {
        throw Error(here, "is the same seed as " + element("seeds", i) +
                              "; equal runs are no repetition, remove one");
      }
    }
    seeds.push_back(next);
  }
  return seeds;
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

SweepArm read_arm(const Json& value, const std::string& where, const TrainingConfig& training,
                  size_t seeds, std::vector<std::string>& notices) {
  Fields fields(value, where);
  SweepArm arm;
  arm.where = where;
  arm.name = name_of(fields);
  const Json& optimizer = fields.any("optimizer");
  const JsonArray switches = fields.has("switches") ? fields.array("switches") : JsonArray();
  double runs = static_cast<double>(seeds) * grid_size(optimizer);
  for (const Json& each : switches) runs *= grid_size(each);
  if (runs > kMostRuns) {
    throw Error(fields.where("optimizer"), "its lists make more than " +
                                               grouped(static_cast<long long>(kMostRuns)) +
                                               " runs; shorten them");
  }
  std::vector<RoutingRule> routing;
  if (fields.has("routing"))
    routing = parse_routing(fields.any("routing"), fields.where("routing"));
  arm.points = arm_points(parse_optimizer_grid(optimizer, fields.where("optimizer"), notices),
                          routing, switches, training, where, notices);
  fields.finish();
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
  sweep.drafter = fields.any("drafter");
  sweep.training = parse_training(fields.any("training"), fields.where("training"));
  sweep.evaluation =
      parse_evaluation(fields.any("evaluation"), fields.where("evaluation"), sweep.training.steps);
  sweep.split = parse_split(fields.any("split"), fields.where("split"));
  sweep.seeds = read_seed_list(fields.array("seeds"), fields.where("seeds"));
  if (fields.has("target")) {
    sweep.target = read_target(fields.any("target"), fields.where("target"));
  }
  sweep.checkpoint_every = fields.integer("checkpoint_every", sweep.checkpoint_every);
  require_at_least(static_cast<double>(sweep.checkpoint_every), 1,
                   fields.where("checkpoint_every"));

  const JsonArray& arms = fields.array("arms");
  if (arms.empty()) throw Error(fields.where("arms"), "is an empty list; give at least one arm");
  for (const Json& value : arms) {
    const std::string where = element(fields.where("arms"), sweep.arms.size());
    SweepArm arm = read_arm(value, where, sweep.training, sweep.seeds.size(), sweep.notices);
    for (size_t i = 0; i < sweep.arms.size(); ++i) {
      if (sweep.arms[i].name != arm.name) continue;
      throw Error(where + ".name",
                  "'" + arm.name + "' is also the name of " + element("arms", i) + "; rename one");
    }
    sweep.arms.push_back(std::move(arm));
  }
  fields.finish();
  return sweep;
}

Sweep read_sweep(const fs::path& file) { return parse_sweep(read_json(file), file); }

}  // namespace draftlab

#include "record/plan.h"

#include <unordered_map>
#include <unordered_set>

#include "base/error.h"
#include "base/file.h"
#include "record/run_folder.h"

namespace draftlab {
namespace {

// A reader refuses any other, but for a plan.json that only lacks the facts of the store.
constexpr int64_t kPlanSchema = 4, kPlanWithoutStoreFacts = 3, kPhaseSchema = 3;

JsonArray strings(const std::vector<std::string>& texts) {
  return JsonArray(texts.begin(), texts.end());
}

JsonObject to_json(const PlannedRun& run) {
  return {{"name", run.name},
          {"arm", run.arm},
          {"point", run.point},
          {"optimizer", to_json(run.optimizer)},
          {"seeds", JsonObject{{"weights", run.seeds.weights},
                               {"data", run.seeds.data},
                               {"noise", run.seeds.noise}}},
          {"segments", strings(run.segments)},
          {"phase", run.phase}};
}

PlannedRun run_from_json(const Json& value, const std::string& where) {
  Fields fields(value, where);
  PlannedRun run;
  run.name = fields.text("name");
  run.arm = fields.text("arm");
  run.point = fields.text("point");
  run.optimizer = parse_optimizer_config(fields.any("optimizer"), fields.where("optimizer"));
  Fields seeds(fields.any("seeds"), fields.where("seeds"));
  run.seeds = {seeds.integer("weights"), seeds.integer("data"), seeds.integer("noise")};
  seeds.finish();
  run.segments = fields.texts("segments");
  run.phase = fields.text("phase");
  fields.finish();
  return run;
}

PlannedSegment planned_segment_from_json(const Json& value, const std::string& where) {
  Fields fields(value, where);
  PlannedSegment segment{fields.text("id"),
                         segment_from_json(fields.any("config"), fields.where("config"))};
  fields.finish();
  if (segment_id(segment.config) != segment.id) {
    throw Error(fields.where("id"),
                "does not fit the configuration beside it; this file was edited: restore "
                "it, or start a new folder");
  }
  return segment;
}

JsonArray to_json(const std::vector<PlannedRun>& runs) {
  JsonArray list;
  for (const PlannedRun& run : runs) list.push_back(to_json(run));
  return list;
}

JsonArray to_json(const std::vector<PlannedSegment>& segments) {
  JsonArray list;
  for (const PlannedSegment& segment : segments)
    list.push_back(JsonObject{{"id", segment.id}, {"config", to_json(segment.config)}});
  return list;
}

// Each element of the list `key`, read by `read`.
template <typename Item>
void read_list(Fields& fields, const char* key, Item (*read)(const Json&, const std::string&),
               std::vector<Item>& items) {
  size_t i = 0;
  for (const Json& value : fields.array(key))
    items.push_back(read(value, fields.where(key) + "[" + std::to_string(i++) + "]"));
}

JsonObject to_json(const TuningDecision& decision) {
  const auto choice = choice_of(decision.trials, decision.metric);
  const bool tie = choice && choice->is_tie();
  JsonArray trials;
  for (const TrialScore& trial : decision.trials) {
    JsonObject object{{"point", trial.point},
                      {"finished", trial.finished},
                      {"diverged", trial.diverged},
                      {"mean", trial.mean}};
    if (tie) object["loss"] = trial.loss;
    trials.push_back(std::move(object));
  }
  JsonObject object{{"arm", decision.arm},
                    {"metric", decision.metric},
                    {"trials", std::move(trials)},
                    {"best", decision.best},
                    {"extended", decision.extended}};
  if (decision.limited) object["limited"] = true;
  if (decision.step > 0) {
    object["step"] = decision.step;
    object["kept"] = strings(decision.kept);
  }
  return object;
}

TrialScore trial_from_json(const Json& value, const std::string& where) {
  Fields fields(value, where);
  TrialScore trial{fields.text("point"), fields.integer("finished"), fields.integer("diverged"),
                   fields.number("mean")};
  if (fields.has("loss")) trial.loss = fields.number("loss");
  fields.finish();
  return trial;
}

TuningDecision decision_from_json(const Json& value, const std::string& where) {
  Fields fields(value, where);
  TuningDecision decision{
      fields.text("arm"), fields.text("metric"), {}, fields.text("best"), fields.text("extended")};
  read_list(fields, "trials", trial_from_json, decision.trials);
  decision.limited = fields.boolean("limited", false);
  if (fields.has("step")) {
    decision.step = fields.integer("step");
    decision.kept = fields.texts("kept");
  }
  fields.finish();
  return decision;
}

void append(PlanRecord& plan, const PlanRecord& phase) {
  std::unordered_set<std::string> known;
  for (const PlannedSegment& segment : plan.segments) known.insert(segment.id);
  for (const PlannedSegment& segment : phase.segments) {
    if (known.insert(segment.id).second) plan.segments.push_back(segment);
  }
  plan.runs.insert(plan.runs.end(), phase.runs.begin(), phase.runs.end());
  plan.decisions.insert(plan.decisions.end(), phase.decisions.begin(), phase.decisions.end());
  ++plan.phases;
}

// Each of `runs` is a path through the plan's segments, with their seeds and the last one's
// optimizer.
void check_runs(const PlanRecord& plan, const std::vector<PlannedRun>& runs,
                const std::string& where) {
  std::unordered_map<std::string, const SegmentConfig*> configs;
  for (const PlannedSegment& segment : plan.segments) configs[segment.id] = &segment.config;
  std::unordered_set<std::string> names;
  for (const PlannedRun& run : plan.runs) {
    const auto edited = [&](const std::string& what) {
      throw Error(where, "run " + run.name + ": " + what +
                             "; this file was edited: restore it, or start a new folder");
    };
    if (!names.insert(run.name + "\n" + run.phase).second) edited("is there twice");
    if (&run < &plan.runs[plan.runs.size() - runs.size()]) continue;  // of a phase before
    if (run.segments.empty()) edited("has no segments");
    std::string parent;
    int64_t step = 0;
    for (const std::string& id : run.segments) {
      const auto found = configs.find(id);
      if (found == configs.end()) edited("there is no segment " + id);
      const SegmentConfig& config = *found->second;
      if (config.parent != parent || config.from_step != step)
        edited("segment " + id + " does not follow the one before it");
      if (config.seeds != run.seeds) edited("its seeds are not those of segment " + id);
      parent = id;
      step = config.to_step;
    }
    if (canonical(to_json(configs.at(parent)->optimizer)) != canonical(to_json(run.optimizer)))
      edited("its optimizer is not that of segment " + parent);
  }
}

PlanRecord read_phase(const std::filesystem::path& file) {
  const Json value = read_json(file);
  Fields fields(value, file.string());
  require_schema(fields.integer("schema"), kPhaseSchema, fields.where("schema"));
  PlanRecord phase;
  read_list(fields, "decisions", decision_from_json, phase.decisions);
  read_list(fields, "runs", run_from_json, phase.runs);
  read_list(fields, "segments", planned_segment_from_json, phase.segments);
  fields.finish();
  return phase;
}

}  // namespace

std::optional<Choice> choice_of(const std::vector<TrialScore>& trials, const std::string& metric) {
  std::vector<Candidate> candidates;
  for (const TrialScore& trial : trials)
    candidates.push_back(
        {static_cast<int64_t>(candidates.size()), trial.diverged, trial.mean, trial.loss});
  return choose(candidates, lower_is_better(metric));
}

JsonObject to_json(const PlanRecord& plan) {
  JsonObject object{
      {"schema", plan.store_facts ? kPlanSchema : kPlanWithoutStoreFacts},
      {"name", plan.name},
      {"sweep_file", plan.sweep_file},
      {"sweep", plan.sweep},
      {"store", plan.store},
      {"store_folder", plan.store_folder.string()},
      {"store_hash", plan.store_hash},
      {"target", JsonObject{{"metric", plan.target.metric}, {"value", plan.target.value}}},
      {"checkpoint_every", plan.checkpoint_every},
      {"notices", strings(plan.notices)},
      {"runs", to_json(plan.runs)},
      {"segments", to_json(plan.segments)}};
  if (!plan.changes.empty()) object["changes"] = strings(plan.changes);
  if (plan.store_facts) object["store_facts"] = to_json(*plan.store_facts);
  return object;
}

void write_plan(const std::filesystem::path& file, const PlanRecord& plan) {
  replace_file(file, pretty(to_json(plan)));
}

namespace {

PlanRecord plan_from_json(const Json& value, const std::string& where) {
  Fields fields(value, where);
  const int64_t schema = fields.integer("schema");
  if (schema != kPlanWithoutStoreFacts) require_schema(schema, kPlanSchema, fields.where("schema"));
  PlanRecord plan;
  plan.name = fields.text("name");
  plan.sweep_file = fields.text("sweep_file");
  plan.sweep = fields.any("sweep");
  if (fields.has("changes")) plan.changes = fields.texts("changes");
  plan.store = fields.any("store");
  plan.store_folder = fields.text("store_folder");
  plan.store_hash = fields.text("store_hash");
  if (schema == kPlanSchema)
    plan.store_facts =
        store_facts_from_json(fields.any("store_facts"), fields.where("store_facts"));
  Fields target(fields.any("target"), fields.where("target"));
  plan.target = {target.text("metric"), target.number("value")};
  target.finish();
  plan.checkpoint_every = fields.integer("checkpoint_every");
  plan.notices = fields.texts("notices");
  read_list(fields, "runs", run_from_json, plan.runs);
  read_list(fields, "segments", planned_segment_from_json, plan.segments);
  fields.finish();
  return plan;
}

JsonArray to_json(const std::vector<TuningDecision>& decisions) {
  JsonArray list;
  for (const TuningDecision& decision : decisions) list.push_back(to_json(decision));
  return list;
}

}  // namespace

PlanRecord read_first_phase(const RunFolder& folder) {
  return plan_from_json(read_json(folder.plan()), folder.plan().string());
}

JsonObject all_phases_to_json(const PlanRecord& plan) {
  return {{"plan", to_json(plan)}, {"phases", plan.phases}, {"decisions", to_json(plan.decisions)}};
}

PlanRecord all_phases_from_json(const Json& value, const std::string& where) {
  Fields fields(value, where);
  PlanRecord plan = plan_from_json(fields.any("plan"), fields.where("plan"));
  plan.phases = fields.integer("phases");
  require_at_least(static_cast<double>(plan.phases), 1, fields.where("phases"));
  read_list(fields, "decisions", decision_from_json, plan.decisions);
  fields.finish();
  check_runs(plan, plan.runs, where);
  return plan;
}

void write_next_phase(const RunFolder& folder, const PlanRecord& phase, PlanRecord& plan) {
  replace_file(folder.phase(plan.phases + 1),
               pretty(JsonObject{{"schema", kPhaseSchema},
                                 {"decisions", to_json(phase.decisions)},
                                 {"runs", to_json(phase.runs)},
                                 {"segments", to_json(phase.segments)}}));
  append(plan, phase);
}

PlanRecord read_plan(const RunFolder& folder) {
  std::string broken;
  PlanRecord plan = read_plan(folder, broken);
  if (!broken.empty()) throw Error(broken);
  return plan;
}

PlanRecord read_plan(const RunFolder& folder, std::string& broken) {
  PlanRecord plan = read_first_phase(folder);
  check_runs(plan, plan.runs, folder.plan().string());
  while (std::filesystem::exists(folder.phase(plan.phases + 1))) {
    const std::filesystem::path file = folder.phase(plan.phases + 1);
    try {
      const PlanRecord phase = read_phase(file);
      PlanRecord grown = plan;
      append(grown, phase);
      check_runs(grown, phase.runs, file.string());
      plan = std::move(grown);
    } catch (const Error& error) {
      broken = error.what();
      break;
    }
  }
  return plan;
}

}  // namespace draftlab

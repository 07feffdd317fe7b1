#include "record/plan.h"

#include "base/error.h"
#include "base/file.h"
#include "record/run_folder.h"

namespace draftlab {
namespace {

constexpr int64_t kSchema = 2;  // of plan.json; a reader refuses any other

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
          {"segments", strings(run.segments)}};
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

}  // namespace

JsonObject to_json(const PlanRecord& plan) {
  JsonArray segments, runs;
  for (const auto& segment : plan.segments) {
    segments.push_back(JsonObject{{"id", segment.id}, {"config", to_json(segment.config)}});
  }
  for (const auto& run : plan.runs) runs.push_back(to_json(run));
  return {{"schema", kSchema},
          {"name", plan.name},
          {"sweep_file", plan.sweep_file},
          {"sweep", plan.sweep},
          {"store", plan.store},
          {"store_folder", plan.store_folder.string()},
          {"store_hash", plan.store_hash},
          {"target", JsonObject{{"metric", plan.target.metric}, {"value", plan.target.value}}},
          {"checkpoint_every", plan.checkpoint_every},
          {"notices", strings(plan.notices)},
          {"runs", std::move(runs)},
          {"segments", std::move(segments)}};
}

void write_plan(const std::filesystem::path& file, const PlanRecord& plan) {
  replace_file(file, pretty(to_json(plan)));
}

PlanRecord read_plan(const std::filesystem::path& file) {
  const Json value = read_json(file);
  Fields fields(value, file.string());
  require_schema(fields.integer("schema"), kSchema, fields.where("schema"));
  PlanRecord plan;
  plan.name = fields.text("name");
  plan.sweep_file = fields.text("sweep_file");
  plan.sweep = fields.any("sweep");
  plan.store = fields.any("store");
  plan.store_folder = fields.text("store_folder");
  plan.store_hash = fields.text("store_hash");
  Fields target(fields.any("target"), fields.where("target"));
  plan.target = {target.text("metric"), target.number("value")};
  target.finish();
  plan.checkpoint_every = fields.integer("checkpoint_every");
  plan.notices = fields.texts("notices");
  for (const Json& run : fields.array("runs")) {
    plan.runs.push_back(
        run_from_json(run, fields.where("runs") + "[" + std::to_string(plan.runs.size()) + "]"));
  }
  for (const Json& segment : fields.array("segments")) {
    plan.segments.push_back(planned_segment_from_json(
        segment, fields.where("segments") + "[" + std::to_string(plan.segments.size()) + "]"));
  }
  fields.finish();
  return plan;
}

}  // namespace draftlab

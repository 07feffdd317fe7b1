#include "record/segment.h"

#include <algorithm>
#include <limits>

#include "base/error.h"
#include "base/file.h"
#include "base/hash.h"
#include "record/run_folder.h"
#include "record/schedule.h"

namespace draftlab {
namespace {

constexpr int64_t kSchema = 2;  // of segment.json; a reader refuses any other

TrainingConfig read_training(Fields& fields) {
  TrainingConfig config;
  config.steps = fields.integer("steps");
  config.sequences_per_step = fields.integer("sequences_per_step", config.sequences_per_step);
  config.anchors = fields.integer("anchors", config.anchors);
  config.schedule = fields.text("schedule", config.schedule);
  config.warmup = fields.number("warmup", config.warmup);
  config.clip = fields.number("clip", config.clip);
  config.gamma = fields.number("gamma", config.gamma);
  if (fields.has("loss")) config.loss = parse_loss(fields.any("loss"), fields.where("loss"));
  config.labels = fields.text("labels", config.labels);
  config.device = fields.text("device", config.device);
  config.threads = fields.integer("threads", config.threads);
  fields.finish();
  require_at_least(config.steps, 1, fields.where("steps"));
  require_at_least(config.sequences_per_step, 1, fields.where("sequences_per_step"));
  require_at_least(config.anchors, 1, fields.where("anchors"));
  require_one_of(config.schedule, schedule_names(), fields.where("schedule"));
  require_between(config.warmup, 0, 1, fields.where("warmup"));
  require_at_least(config.clip, 0, fields.where("clip"));
  require_at_least(config.gamma, 0, fields.where("gamma"));
  require_one_of(config.labels, {"data", "argmax"}, fields.where("labels"));
  require_one_of(config.device, {"cpu", "cuda"}, fields.where("device"));
  require_between(config.threads, 1, 1024, fields.where("threads"));
  return config;
}

SplitConfig read_split(Fields& fields) {
  SplitConfig config;
  config.train = fields.integer("train");
  config.tuning = fields.integer("tuning", 0);
  config.held_out = fields.integer("held_out");
  config.by = fields.text("by", config.by);
  fields.finish();
  require_at_least(config.train, 1, fields.where("train"));
  require_at_least(config.tuning, 0, fields.where("tuning"));
  require_at_least(config.held_out, 1, fields.where("held_out"));
  require_one_of(config.by, {"sequence", "group", "similarity"}, fields.where("by"));
  return config;
}

JsonObject to_json(const TrainingConfig& config) {
  JsonObject object{{"steps", config.steps},     {"sequences_per_step", config.sequences_per_step},
                    {"anchors", config.anchors}, {"schedule", config.schedule},
                    {"warmup", config.warmup},   {"clip", config.clip},
                    {"gamma", config.gamma},     {"labels", config.labels},
                    {"device", config.device},   {"threads", config.threads}};
  // Left out where it is the usual one, so that ids from before there was a choice stay valid.
  if (config.loss != LossConfig{}) object["loss"] = to_json(config.loss);
  return object;
}

EvaluationConfig evaluation_from_json(const Json& value, const std::string& where) {
  Fields fields(value, where);
  EvaluationConfig config;
  config.steps = fields.integers("steps");
  config.stride = fields.integer("stride");
  fields.finish();
  return config;
}

Seeds seeds_from_json(const Json& value, const std::string& where) {
  Fields fields(value, where);
  Seeds seeds{fields.integer("weights"), fields.integer("data"), fields.integer("noise")};
  fields.finish();
  return seeds;
}

StartConfig start_from_json(const Json& value, const std::string& where) {
  Fields fields(value, where);
  StartConfig start{fields.text("state"), fields.integer("rewarmup"),
                    fields.integer("schedule_from")};
  fields.finish();
  require_one_of(start.state, {"transfer", "reset"}, fields.where("state"));
  require_at_least(static_cast<double>(start.rewarmup), 0, fields.where("rewarmup"));
  require_at_least(static_cast<double>(start.schedule_from), 0, fields.where("schedule_from"));
  return start;
}

}  // namespace

TrainingConfig parse_training(const Json& value, const std::string& where) {
  Fields fields(value, where);
  return read_training(fields);
}

SplitConfig parse_split(const Json& value, const std::string& where) {
  Fields fields(value, where);
  return read_split(fields);
}

JsonObject to_json(const SplitConfig& config) {
  JsonObject object{
      {"train", config.train}, {"tuning", config.tuning}, {"held_out", config.held_out}};
  // Left out where it is the usual one, so that ids from before there was a choice stay valid.
  if (config.by != SplitConfig().by) object["by"] = config.by;
  return object;
}

EvaluationConfig parse_evaluation(const Json& value, const std::string& where, int64_t steps) {
  Fields fields(value, where);
  EvaluationConfig config;
  config.stride = fields.integer("stride", config.stride);
  require_at_least(config.stride, 1, fields.where("stride"));
  if (fields.has("at") == fields.has("every")) {
    throw Error(where, "give either \"every\": STEPS or \"at\": [STEP, ...]");
  }
  if (fields.has("every")) {
    const int64_t every = fields.integer("every");
    require_between(every, 1, steps, fields.where("every"));
    for (int64_t step = 0; step < steps; step += every) config.steps.push_back(step);
  } else {
    config.steps = fields.integers("at");
    for (int64_t step : config.steps) require_between(step, 0, steps, fields.where("at"));
    config.steps.push_back(0);
  }
  fields.finish();
  config.steps.push_back(steps);
  std::sort(config.steps.begin(), config.steps.end());
  config.steps.erase(std::unique(config.steps.begin(), config.steps.end()), config.steps.end());
  return config;
}

JsonObject to_json(const SegmentConfig& config) {
  return {{"drafter", to_json(config.drafter)},
          {"training", to_json(config.training)},
          {"evaluation", JsonObject{{"steps", JsonArray(config.evaluation.steps.begin(),
                                                        config.evaluation.steps.end())},
                                    {"stride", config.evaluation.stride}}},
          {"split", to_json(config.split)},
          {"optimizer", to_json(config.optimizer)},
          {"routing", to_json(config.routing)},
          {"seeds", JsonObject{{"weights", config.seeds.weights},
                               {"data", config.seeds.data},
                               {"noise", config.seeds.noise}}},
          {"store", config.store},
          {"parent", config.parent},
          {"start", JsonObject{{"state", config.start.state},
                               {"rewarmup", config.start.rewarmup},
                               {"schedule_from", config.start.schedule_from}}},
          {"from_step", config.from_step},
          {"to_step", config.to_step}};
}

SegmentConfig segment_from_json(const Json& value, const std::string& where) {
  Fields fields(value, where);
  SegmentConfig config;
  config.drafter = drafter_config_from_json(fields.any("drafter"), fields.where("drafter"));
  config.training = parse_training(fields.any("training"), fields.where("training"));
  config.evaluation = evaluation_from_json(fields.any("evaluation"), fields.where("evaluation"));
  config.split = parse_split(fields.any("split"), fields.where("split"));
  config.optimizer = parse_optimizer_config(fields.any("optimizer"), fields.where("optimizer"));
  config.routing = routes_from_json(fields.any("routing"), fields.where("routing"));
  config.seeds = seeds_from_json(fields.any("seeds"), fields.where("seeds"));
  config.store = fields.text("store");
  config.parent = fields.text("parent");
  config.start = start_from_json(fields.any("start"), fields.where("start"));
  config.from_step = fields.integer("from_step");
  config.to_step = fields.integer("to_step");
  fields.finish();
  require_between(config.to_step, config.from_step + 1, config.training.steps,
                  fields.where("to_step"));
  require_between(static_cast<double>(config.start.schedule_from), 0,
                  static_cast<double>(config.from_step), fields.where("start.schedule_from"));
  return config;
}

double sequences_after(const SegmentConfig& config, double steps) {
  return steps * static_cast<double>(config.training.sequences_per_step);
}

double epochs_after(const SegmentConfig& config, double steps) {
  return sequences_after(config, steps) / static_cast<double>(config.split.train);
}

std::string segment_id(const SegmentConfig& config) {
  return sha256_hex(canonical(to_json(config))).substr(0, 16);
}

void write_task(const std::filesystem::path& file, const SegmentTask& task) {
  replace_file(file, pretty(JsonObject{{"schema", kSchema},
                                       {"id", task.id},
                                       {"store_folder", task.store_folder.string()},
                                       {"checkpoint_every", task.checkpoint_every},
                                       {"config", to_json(task.config)}}));
}

SegmentTask read_task(const std::filesystem::path& file) {
  const Json value = read_json(file);
  Fields fields(value, file.string());
  require_schema(fields.integer("schema"), kSchema, fields.where("schema"));
  SegmentTask task;
  task.id = fields.text("id");
  task.store_folder = fields.text("store_folder");
  task.checkpoint_every = fields.integer("checkpoint_every");
  task.config = segment_from_json(fields.any("config"), fields.where("config"));
  fields.finish();
  require_at_least(task.checkpoint_every, 1, fields.where("checkpoint_every"));
  if (segment_id(task.config) != task.id) {
    throw Error(fields.where("id"),
                "is " + task.id + ", but the configuration below it has the id " +
                    segment_id(task.config) + "; this file was edited: plan it anew");
  }
  return task;
}

}  // namespace draftlab

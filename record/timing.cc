#include "record/timing.h"

#include <array>
#include <cmath>

#include "base/error.h"
#include "base/file.h"
#include "record/optimizer_kind.h"
#include "record/run_folder.h"

namespace draftlab {
namespace {

constexpr int64_t kSchema = 1;

struct Part {
  const char* key;
  double StepTimes::*seconds;
};
constexpr std::array<Part, 6> kParts = {{{"data", &StepTimes::data},
                                         {"forward", &StepTimes::forward},
                                         {"backward", &StepTimes::backward},
                                         {"orthogonalization", &StepTimes::orthogonalization},
                                         {"rest", &StepTimes::rest},
                                         {"processor", &StepTimes::processor}}};

StepTimes times_from_json(const Json& value, const std::string& where) {
  Fields fields(value, where);
  StepTimes times;
  for (const Part& part : kParts) {
    const double seconds = part.seconds == &StepTimes::processor ? fields.number(part.key, 0)
                                                                 : fields.number(part.key);
    if (!std::isfinite(seconds) || seconds < 0)
      throw Error(fields.where(part.key), "must be seconds, finite and not negative");
    times.*part.seconds = seconds;
  }
  fields.finish();
  return times;
}

int64_t bytes_of(Fields& fields, std::string_view key) {
  const int64_t bytes = fields.integer(key);
  require_at_least(static_cast<double>(bytes), 0, fields.where(key));
  return bytes;
}

// An optimizer's options and those of its partner.
JsonObject without_rates(JsonObject options) {
  options.erase("learning_rate");
  for (auto& option : options) {
    if (option.value().is_object())
      option.value() = without_rates(std::move(option.value().as_object()));
  }
  return options;
}

}  // namespace

std::vector<StepTimes> Timing::samples() const {
  std::vector<StepTimes> means(steps.size() / period);
  for (size_t i = 0; i < means.size() * period; ++i) {
    for (const Part& part : kParts)
      means[i / period].*part.seconds += steps[i].*part.seconds / static_cast<double>(period);
  }
  return means;
}

JsonObject to_json(const Timing& timing) {
  JsonArray steps;
  for (const StepTimes& times : timing.steps) {
    JsonObject step;
    for (const Part& part : kParts) step[part.key] = times.*part.seconds;
    steps.push_back(std::move(step));
  }
  return {{"schema", kSchema},
          {"period", timing.period},
          {"steps", std::move(steps)},
          {"weight_bytes", timing.weight_bytes},
          {"gradient_bytes", timing.gradient_bytes},
          {"optimizer_bytes", timing.optimizer_bytes},
          {"peak_memory_bytes", timing.peak_memory_bytes},
          {"in_turn", timing.in_turn},
          {"machine", to_json(timing.machine)}};
}

Timing timing_from_json(const Json& value, const std::string& where) {
  Fields fields(value, where);
  require_schema(fields.integer("schema"), kSchema, fields.where("schema"));
  Timing timing;
  timing.period = fields.integer("period");
  require_at_least(static_cast<double>(timing.period), 1, fields.where("period"));
  for (const Json& step : fields.array("steps")) {
    timing.steps.push_back(times_from_json(
        step, fields.where("steps") + "[" + std::to_string(timing.steps.size()) + "]"));
  }
  if (timing.steps.empty() || timing.steps.size() % timing.period != 0) {
    throw Error(fields.where("steps"),
                "must be whole periods of " + std::to_string(timing.period) + ", are " +
                    std::to_string(timing.steps.size()) +
                    "; remove the file, and `draftlab resume` measures again");
  }
  timing.weight_bytes = bytes_of(fields, "weight_bytes");
  timing.gradient_bytes = bytes_of(fields, "gradient_bytes");
  timing.optimizer_bytes = bytes_of(fields, "optimizer_bytes");
  timing.peak_memory_bytes = bytes_of(fields, "peak_memory_bytes");
  timing.in_turn = fields.integer("in_turn", 1);
  require_at_least(static_cast<double>(timing.in_turn), 1, fields.where("in_turn"));
  Fields machine(fields.any("machine"), fields.where("machine"));
  timing.machine = read_machine(machine);
  machine.finish();
  fields.finish();
  return timing;
}

void write_timing(const std::filesystem::path& file, const Timing& timing) {
  replace_file(file, pretty(to_json(timing)));
}

std::optional<Timing> read_timing(const std::filesystem::path& file) {
  if (!std::filesystem::exists(file)) return std::nullopt;
  return timing_from_json(read_json(file), file.string());
}

int64_t step_period(const SegmentConfig& config) {
  const std::string& period = optimizer_kind(config.optimizer.kind, "optimizer.kind").period;
  return period.empty() ? 1 : config.optimizer.integer(period);
}

namespace {

JsonObject forward_object(const SegmentConfig& config) {
  return {{"drafter", to_json(config.drafter)},
          {"store", config.store},
          {"sequences_per_step", config.training.sequences_per_step},
          {"anchors", config.training.anchors},
          {"clip", config.training.clip > 0},
          {"loss", to_json(config.training.loss)},
          {"device", config.training.device},
          {"threads", config.training.threads}};
}

}  // namespace

std::string forward_identity(const SegmentConfig& config) {
  return canonical(forward_object(config));
}

std::string step_identity(const SegmentConfig& config) {
  Json routing = to_json(config.routing);
  for (Json& route : routing.as_array()) route.as_object().erase("learning_rates");
  JsonObject object = forward_object(config);
  object["routing"] = std::move(routing);
  object["optimizer"] = without_rates(to_json(config.optimizer));
  return canonical(object);
}

}  // namespace draftlab

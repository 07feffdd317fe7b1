#include "reports/pipeline/pipeline_specification.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "record/option.h"

namespace draftlab {
namespace {

constexpr double kSmallest = 1e-9, kLargest = 1e15;
constexpr int64_t kMostWorkers = 10000, kMostCapacity = 10000, kMostBatches = int64_t{1} << 50;

double checked(double value, const std::string& where) {
  require_above(value, 0, where);  // a NaN is not above 0
  require_between(value, kSmallest, kLargest, where);
  return value;
}

double positive(Fields& fields, std::string_view key) {
  return checked(fields.number(key), fields.where(key));
}

int64_t whole(Fields& fields, std::string_view key, int64_t fallback, int64_t low, int64_t high) {
  const int64_t value = fields.integer(key, fallback);
  require_between(static_cast<double>(value), static_cast<double>(low), static_cast<double>(high),
                  fields.where(key));
  return value;
}

// Calls read(value, where) for each element; an empty list is an error.
template <typename Read>
void each(Fields& fields, std::string_view key, Read read) {
  const JsonArray& list = fields.array(key);
  if (list.empty()) throw Error(fields.where(key), "is an empty list; name at least one");
  for (size_t i = 0; i < list.size(); ++i) {
    read(list[i], fields.where(key) + "[" + std::to_string(i) + "]");
  }
}

ServiceTimes parse_times(Fields& fields) {
  const std::string kind = fields.text("times", "fixed");
  require_one_of(kind, {"fixed", "exponential", "lognormal"}, fields.where("times"));
  ServiceTimes times;
  if (kind == "exponential") times.kind = ServiceTimes::kExponential;
  if (kind == "lognormal") {
    times.kind = ServiceTimes::kLognormal;
    times.cv = positive(fields, "cv");
    require_between(times.cv, kSmallest, 100, fields.where("cv"));
  } else if (fields.has("cv")) {
    throw Error(fields.where("cv"), "goes with \"times\": \"lognormal\" alone; remove it");
  }
  return times;
}

ProducerGroup parse_producers(const Json& json, const std::string& where) {
  Fields fields(json, where);
  ProducerGroup group;
  group.count = whole(fields, "count", 1, 1, kMostWorkers);
  group.rate = positive(fields, "rate");
  group.times = parse_times(fields);
  fields.finish();
  return group;
}

PipelineInterval parse_interval(const Json& json, const std::string& where) {
  if (!json.is_object()) {
    const double value = checked(json_number(json, where), where);
    return {value, value, value};
  }
  Fields fields(json, where);
  PipelineInterval interval;
  interval.low = positive(fields, "low");
  interval.high = fields.number("high");
  const bool endless = std::isinf(interval.high) && interval.high > 0;
  if (!endless) checked(interval.high, fields.where("high"));
  if (endless && !fields.has("value")) {
    throw Error(fields.where("value"), "is missing; an endless interval has no middle");
  }
  interval.value = fields.has("value") ? positive(fields, "value")
                                       : interval.low + (interval.high - interval.low) / 2;
  fields.finish();
  if (!(interval.low <= interval.value && interval.value <= interval.high)) {
    throw Error(where, "must have low <= value <= high");
  }
  return interval;
}

PipelineOptimizer parse_optimizer(const Json& json, const std::string& where) {
  Fields fields(json, where);
  PipelineOptimizer optimizer;
  optimizer.name = fields.text("name");
  if (optimizer.name.empty()) throw Error(fields.where("name"), "is empty; give it a name");
  optimizer.step_seconds = positive(fields, "step_seconds");
  optimizer.update_seconds = fields.number("update_seconds", 0);
  require_between(optimizer.update_seconds, 0, optimizer.step_seconds,
                  fields.where("update_seconds"));
  optimizer.batches_to_target =
      parse_interval(fields.any("batches_to_target"), fields.where("batches_to_target"));
  fields.finish();
  return optimizer;
}

PipelineStore parse_store(const Json& json, const std::string& where, int64_t batches_per_epoch) {
  Fields fields(json, where);
  PipelineStore store;
  store.rate = positive(fields, "rate");
  store.stored = whole(fields, "stored", 0, 0, batches_per_epoch);
  const std::string freed = fields.text("freed_producers", "idle");
  require_one_of(freed, {"idle", "train"}, fields.where("freed_producers"));
  store.freed_producers_train = freed == "train";
  fields.finish();
  return store;
}

PipelineTopology parse_topology(const Json& json, const std::string& where) {
  const JsonArray* pair = json.if_array();
  if (pair == nullptr || pair->size() != 2) {
    throw Error(where, "must be a pair: [producers, consumers]");
  }
  const auto count = [&](size_t i) {
    const std::string at = where + "[" + std::to_string(i) + "]";
    const double number = json_number((*pair)[i], at);
    require_between(number, 1, kMostWorkers, at);
    if (number != std::floor(number)) throw Error(at, "must be a whole number");
    return static_cast<int64_t>(number);
  };
  return {count(0), count(1)};
}

SimulationOptions parse_simulation(const Json& json, const std::string& where) {
  Fields fields(json, where);
  SimulationOptions options;
  options.seed = static_cast<uint64_t>(whole(fields, "seed", 1, 0, kMostBatches));
  options.batches = whole(fields, "batches", options.batches, 1000, 10000000);
  options.windows = whole(fields, "windows", options.windows, 10, options.batches / 10);
  fields.finish();
  return options;
}

void parse_queue(const Json& json, const std::string& where, PipelineSpec& spec) {
  Fields fields(json, where);
  fields.any("capacity");
  spec.queue_capacity = whole(fields, "capacity", 0, 1, kMostCapacity);
  if (fields.has("bytes_per_batch")) spec.bytes_per_batch = positive(fields, "bytes_per_batch");
  fields.finish();
}

void parse_training(const Json& json, const std::string& where, PipelineSpec& spec) {
  Fields fields(json, where);
  fields.any("batches_per_epoch");
  spec.batches_per_epoch = whole(fields, "batches_per_epoch", 0, 1, kMostBatches);
  spec.epochs = positive(fields, "epochs");
  fields.finish();
}

int64_t parse_consumers(const Json& json, const std::string& where, PipelineSpec& spec) {
  Fields fields(json, where);
  const int64_t count = whole(fields, "count", 1, 1, kMostWorkers);
  spec.step_times = parse_times(fields);
  fields.finish();
  return count;
}

}  // namespace

bool PipelineSpec::has(HiddenStates wanted) const {
  return std::find(hidden_states.begin(), hidden_states.end(), wanted) != hidden_states.end();
}

PipelineSpec parse_pipeline_spec(const Json& json, const std::string& origin) {
  Fields fields(json, origin);
  PipelineSpec spec;
  spec.name = fields.text("name");
  int64_t producers = 0;
  each(fields, "producers", [&](const Json& value, const std::string& where) {
    spec.producers.push_back(parse_producers(value, where));
    producers += spec.producers.back().count;
  });
  require_between(static_cast<double>(producers), 1, kMostWorkers, fields.where("producers"));
  parse_queue(fields.any("queue"), fields.where("queue"), spec);
  const int64_t consumers =
      parse_consumers(fields.any("consumers"), fields.where("consumers"), spec);
  parse_training(fields.any("training"), fields.where("training"), spec);
  each(fields, "optimizers", [&](const Json& value, const std::string& where) {
    PipelineOptimizer optimizer = parse_optimizer(value, where);
    for (const PipelineOptimizer& other : spec.optimizers) {
      if (other.name != optimizer.name) continue;
      throw Error(where + ".name", "'" + other.name + "' is the name of another one too");
    }
    spec.optimizers.push_back(std::move(optimizer));
  });
  each(fields, "hidden_states", [&](const Json& value, const std::string& where) {
    const std::string text = option_text(value);
    require_one_of(text, {"online", "cached"}, where);
    const HiddenStates states = text == "online" ? HiddenStates::kOnline : HiddenStates::kCached;
    if (spec.has(states)) throw Error(where, "'" + text + "' is given twice; keep one of them");
    spec.hidden_states.push_back(states);
  });
  if (spec.has(HiddenStates::kCached)) {
    spec.store = parse_store(fields.any("store"), fields.where("store"), spec.batches_per_epoch);
  } else if (fields.has("store")) {
    throw Error(fields.where("store"),
                "is used with \"cached\" alone; add that to hidden_states, or remove the store");
  }
  spec.topologies = {{producers, consumers}};
  if (fields.has("topologies")) {
    each(fields, "topologies", [&](const Json& value, const std::string& where) {
      const PipelineTopology topology = parse_topology(value, where);
      auto& known = spec.topologies;
      if (std::find(known.begin(), known.end(), topology) == known.end()) known.push_back(topology);
    });
  }
  if (spec.topologies.size() > 1 && spec.producers.size() > 1) {
    throw Error(fields.where("topologies"),
                "need producers of one kind, to scale with their number; make \"producers\" a list "
                "of one");
  }
  if (fields.has("simulation")) {
    spec.simulation = parse_simulation(fields.any("simulation"), fields.where("simulation"));
  }
  fields.finish();
  return spec;
}

PipelineSpec read_pipeline_spec(const std::filesystem::path& file) {
  return parse_pipeline_spec(read_json(file), file.string());
}

std::string to_text(HiddenStates hidden_states) {
  return hidden_states == HiddenStates::kOnline ? "online" : "cached";
}

std::string to_text(const PipelineTopology& topology) {
  return std::to_string(topology.producers) + "-" + std::to_string(topology.consumers);
}

}  // namespace draftlab

#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "base/json.h"

namespace draftlab {

// What `draftlab pipeline` is asked about (docs/pipeline.md): producers make the hidden states of
// batches, a bounded queue holds them, a consumer trains on one batch a step.

// How the time that one batch takes scatters around its mean.
struct ServiceTimes {
  enum Kind { kFixed, kExponential, kLognormal };
  Kind kind = kFixed;
  double cv = 0;  // standard deviation over mean, of kLognormal
  bool operator==(const ServiceTimes&) const = default;
};

// Producers alike; each makes `rate` batches a second.
struct ProducerGroup {
  int64_t count = 1;
  double rate = 0;
  ServiceTimes times;
  bool operator==(const ProducerGroup&) const = default;
};

struct PipelineInterval {
  double value = 0, low = 0, high = 0;
};

struct PipelineOptimizer {
  std::string name;
  double step_seconds = 0;             // with one consumer
  double update_seconds = 0;           // the part of it that more consumers do not shorten
  PipelineInterval batches_to_target;  // from now on; high may be infinite: perhaps never
};

struct PipelineTopology {
  int64_t producers = 1, consumers = 1;
  bool operator==(const PipelineTopology&) const = default;
};

// Online: every batch of every epoch is produced. Cached: the first epoch is produced and kept, the
// others are read from a store.
enum class HiddenStates { kOnline, kCached };

struct PipelineStore {
  double rate = 0;                     // batches read a second
  int64_t stored = 0;                  // batches that are in it already
  bool freed_producers_train = false;  // once all is stored, as further consumers
};

struct SimulationOptions {
  uint64_t seed = 1;
  int64_t batches = 100000;  // of each phase
  int64_t windows = 20;      // equal numbers of batches; the first tenth is a warm-up
};

struct PipelineSpec {
  std::string name;
  std::vector<ProducerGroup> producers;
  int64_t queue_capacity = 0;  // finished batches that wait, without those in anybody's hands
  double bytes_per_batch = 0;  // 0: not known
  ServiceTimes step_times;     // of the consumers
  int64_t batches_per_epoch = 0;
  double epochs = 0;  // left to train
  std::vector<PipelineOptimizer> optimizers;
  std::vector<HiddenStates> hidden_states;
  PipelineStore store;                       // where hidden_states has kCached
  std::vector<PipelineTopology> topologies;  // the first is the pipeline as it is
  SimulationOptions simulation;

  double batches_left() const { return epochs * static_cast<double>(batches_per_epoch); }
  bool has(HiddenStates wanted) const;
};

// Strict; errors name `origin` and the key. Rates and seconds are finite and above 0.
PipelineSpec parse_pipeline_spec(const Json& json, const std::string& origin);
PipelineSpec read_pipeline_spec(const std::filesystem::path& file);

// "online", "cached"
std::string to_text(HiddenStates hidden_states);
// "3-1": producers, consumers
std::string to_text(const PipelineTopology& topology);

}  // namespace draftlab

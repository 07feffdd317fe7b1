#include "reports/pipeline/pipeline_model.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

namespace draftlab {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kTie = 1e-9;  // relative; rounding, where two times are equal by construction

// The fluid limit: nothing is lost to chance.
SteadyState fluid(double supply, double demand, const PipelineStage& stage) {
  SteadyState state{.supply = supply, .demand = demand, .throughput = std::min(supply, demand)};
  state.producers_busy = state.throughput / supply;
  state.consumer_busy = state.throughput / demand;
  const bool fills = supply > demand * (1 + kTie);
  state.mean_queue = fills ? static_cast<double>(stage.queue_capacity) : 0;
  return state;
}

SteadyState birth_death(double demand, const ProducerGroup& producers, int64_t capacity) {
  const int64_t full = capacity + 1;  // the consumer's batch and the queue's
  const int64_t states = full + producers.count + 1;
  std::vector<double> weights(states);  // logarithms, then up to a factor the probabilities
  for (int64_t s = 1; s < states; ++s) {
    const int64_t at_work = producers.count - std::max<int64_t>(0, s - 1 - full);
    weights[s] = weights[s - 1] + std::log(static_cast<double>(at_work) * producers.rate / demand);
  }
  const double largest = *std::max_element(weights.begin(), weights.end());
  double sum = 0, busy = 0, queue = 0;
  for (int64_t s = 0; s < states; ++s) {
    const double weight = std::exp(weights[s] - largest);
    sum += weight;
    if (s > 0) busy += weight;
    queue += weight * static_cast<double>(std::clamp<int64_t>(s - 1, 0, capacity));
  }
  SteadyState state{.supply = static_cast<double>(producers.count) * producers.rate,
                    .demand = demand};
  state.consumer_busy = busy / sum;
  state.throughput = state.consumer_busy * demand;
  state.producers_busy = state.throughput / state.supply;
  state.mean_queue = queue / sum;
  state.exact = true;
  return state;
}

// The producers of a topology; the pipeline as it is may have several kinds.
std::vector<ProducerGroup> producers_of(const PipelineSpec& spec,
                                        const PipelineTopology& topology) {
  std::vector<ProducerGroup> producers = spec.producers;
  if (producers.size() == 1) producers[0].count = topology.producers;
  return producers;
}

// The largest factor by which a step may be longer so that `seconds(factor)`, which rises, stays
// within `budget`; NaN if none is.
double largest_slowdown(const std::function<double(double)>& seconds, double budget) {
  double low = 1e-9, high = 1;
  budget *= 1 + kTie;
  if (seconds(low) > budget) return std::numeric_limits<double>::quiet_NaN();
  while (seconds(high) <= budget) {
    low = high;
    high *= 2;
  }
  for (int i = 0; i < 60 && high - low > 1e-12 * high; ++i) {
    const double middle = low + (high - low) / 2;
    (seconds(middle) <= budget ? low : high) = middle;
  }
  return low;
}

PipelineCase predict(const PipelineSpec& spec, HiddenStates hidden_states,
                     const PipelineTopology& topology, const PipelineOptimizer& optimizer,
                     const PipelineCase* first) {
  const PipelineInterval& batches = optimizer.batches_to_target;
  PipelineCase result{.hidden_states = hidden_states, .topology = topology, .optimizer = optimizer};
  result.phases = pipeline_phases(spec, hidden_states, topology, optimizer);
  result.batches_left = spec.batches_left();
  result.seconds_left = seconds_for(result.batches_left, result.phases);
  result.seconds_to_target = {seconds_for(batches.value, result.phases),
                              seconds_for(batches.low, result.phases),
                              seconds_for(batches.high, result.phases)};
  result.exact = std::all_of(result.phases.begin(), result.phases.end(),
                             [](const PipelinePhase& phase) { return phase.steady.exact; });
  const double seconds = result.seconds_to_target.value;
  const auto with_slowdown = [&](double slowdown) {
    return seconds_for(batches.value,
                       pipeline_phases(spec, hidden_states, topology, optimizer, slowdown));
  };
  result.free_slowdown = largest_slowdown(with_slowdown, seconds) - 1;
  result.even_slowdown = first == nullptr
                             ? result.free_slowdown
                             : largest_slowdown(with_slowdown, first->seconds_to_target.value) - 1;
  result.fewer_batches_save =
      100 * (1 - seconds_for(0.99 * batches.value, result.phases) / seconds);
  result.longer_step_costs = 100 * (with_slowdown(1.01) / seconds - 1);
  return result;
}

}  // namespace

SteadyState steady_state(const PipelineStage& stage) {
  double supply = 0;
  int64_t producers = 0;
  for (const ProducerGroup& group : stage.sources) {
    supply += static_cast<double>(group.count) * group.rate;
    producers += group.count;
  }
  const double demand = 1 / stage.step_seconds;
  const auto all = [&](ServiceTimes::Kind kind) {
    return stage.step_times.kind == kind &&
           std::all_of(stage.sources.begin(), stage.sources.end(),
                       [&](const ProducerGroup& group) { return group.times.kind == kind; });
  };
  const bool alike =
      std::all_of(stage.sources.begin(), stage.sources.end(),
                  [&](const ProducerGroup& group) { return group.rate == stage.sources[0].rate; });
  if (alike && all(ServiceTimes::kExponential)) {
    ProducerGroup merged = stage.sources[0];
    merged.count = producers;
    return birth_death(demand, merged, stage.queue_capacity);
  }
  SteadyState state = fluid(supply, demand, stage);
  state.exact = all(ServiceTimes::kFixed) && (alike || stage.queue_capacity >= producers);
  return state;
}

std::string who_waits(const SteadyState& state) {
  const bool consumer = state.consumer_busy < 1 - kTie, producers = state.producers_busy < 1 - kTie;
  if (consumer && producers) return "both";
  return consumer ? "consumer" : producers ? "producers" : "nobody";
}

std::vector<PipelinePhase> pipeline_phases(const PipelineSpec& spec, HiddenStates hidden_states,
                                           const PipelineTopology& topology,
                                           const PipelineOptimizer& optimizer, double slowdown) {
  const auto phase = [&](const char* source, double batches, std::vector<ProducerGroup> sources,
                         int64_t consumers) {
    const double shared = optimizer.step_seconds - optimizer.update_seconds;
    const double step = shared / static_cast<double>(consumers) + optimizer.update_seconds;
    PipelineStage stage{std::move(sources), spec.queue_capacity, slowdown * step, spec.step_times};
    const SteadyState steady = steady_state(stage);
    return PipelinePhase{source, batches, std::move(stage), steady};
  };
  const std::vector<ProducerGroup> producers = producers_of(spec, topology);
  if (hidden_states == HiddenStates::kOnline) {
    return {phase("producers", kInfinity, producers, topology.consumers)};
  }
  std::vector<PipelinePhase> phases;
  if (const int64_t rest = spec.batches_per_epoch - spec.store.stored; rest > 0) {
    phases.push_back(phase("producers", static_cast<double>(rest), producers, topology.consumers));
  }
  const int64_t joined = spec.store.freed_producers_train ? topology.producers : 0;
  phases.push_back(
      phase("store", kInfinity, {{.rate = spec.store.rate}}, topology.consumers + joined));
  return phases;
}

double seconds_for(double batches, const std::vector<PipelinePhase>& phases) {
  double seconds = 0;
  for (const PipelinePhase& phase : phases) {
    const double here = std::min(batches, phase.batches);
    seconds += here / phase.steady.throughput;
    batches -= here;
  }
  return seconds;
}

std::vector<PipelineCase> predict_pipeline(const PipelineSpec& spec) {
  std::vector<PipelineCase> cases;
  for (const HiddenStates hidden_states : spec.hidden_states) {
    for (const PipelineTopology& topology : spec.topologies) {
      const size_t first = cases.size();
      for (const PipelineOptimizer& optimizer : spec.optimizers) {
        cases.push_back(predict(spec, hidden_states, topology, optimizer,
                                cases.size() == first ? nullptr : &cases[first]));
      }
    }
  }
  return cases;
}

}  // namespace draftlab

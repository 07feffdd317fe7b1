#pragma once

#include <string>
#include <vector>

#include "reports/pipeline/pipeline_specification.h"

namespace draftlab {

// The steady state of a pipeline in closed form, and what follows from it: how long until the
// target, and what a slower step or fewer batches change. Pure functions.

// A stretch of training in which all rates stay the same. A producer that finds the queue full
// holds its batch and rests until there is room; data-parallel consumers share each batch and act
// as one.
struct PipelineStage {
  std::vector<ProducerGroup> sources;
  int64_t queue_capacity = 1;
  double step_seconds = 0;  // mean
  ServiceTimes step_times;
};

struct SteadyState {
  double supply = 0, demand = 0;                 // batches/s that each side could do alone
  double throughput = 0;                         // batches/s, at most the smaller of the two
  double producers_busy = 0, consumer_busy = 0;  // shares of the time
  double mean_queue = 0;                         // waiting batches
  // Whether throughput and shares are exact in the long run; else throughput is an upper bound.
  bool exact = false;
};

// Fixed times: the smaller of both rates; the queue ends empty or full (empty where both are
// equal). Exact for producers alike, and for others if the queue has room for a batch of each: the
// work in progress never strays further from its fluid limit. Exponential times, n producers alike
// with rate r, queue of K: a birth-death chain over the batches that are made and not used up. Up
// with n r below K + 2 of them, with (n - j) r at K + 1 + j (j producers rest); down with the
// consumer's rate. n = 1 is M/M/1/(K + 2). (E.g. Kleinrock, Queueing Systems I, 1975, chapter 3.)
// All else: the fluid limit, as an upper bound.
SteadyState steady_state(const PipelineStage& stage);

// Who waits for whom in it: "consumer", "producers", "both" (variable times) or "nobody".
std::string who_waits(const SteadyState& state);

struct PipelinePhase {
  std::string source;  // "producers" or "store"
  double batches = 0;  // until the next phase; infinite in the last
  PipelineStage stage;
  SteadyState steady;
};

// Online: one phase. Cached: what is not stored yet comes from the producers, the rest from the
// store. The step takes `slowdown` times as long. More consumers: (step - update) / n + update.
std::vector<PipelinePhase> pipeline_phases(const PipelineSpec& spec, HiddenStates hidden_states,
                                           const PipelineTopology& topology,
                                           const PipelineOptimizer& optimizer, double slowdown = 1);

// Until so many batches are used up, in the steady state of each phase; infinite for infinitely
// many.
double seconds_for(double batches, const std::vector<PipelinePhase>& phases);

// One optimizer in one pipeline.
struct PipelineCase {
  HiddenStates hidden_states;
  PipelineTopology topology;
  PipelineOptimizer optimizer;
  std::vector<PipelinePhase> phases;
  double batches_left = 0;             // planned
  double seconds_left = 0;             // for them
  PipelineInterval seconds_to_target;  // low, value and high of batches_to_target
  bool exact = false;                  // all phases are; else seconds are lower bounds
  // How much longer a step may take (0.375: by 37.5 %) before the target comes later at all, and
  // before it comes later than with the first optimizer in the same pipeline (negative: the step
  // would have to be shorter; NaN: no step is short enough).
  double free_slowdown = 0, even_slowdown = 0;
  // Share of the time to target that 1 % fewer batches save and that a 1 % longer step costs, in
  // per cent.
  double fewer_batches_save = 0, longer_step_costs = 0;
};

// Every optimizer in every topology, online and cached as the specification asks; the optimizer
// varies fastest, hidden states slowest.
std::vector<PipelineCase> predict_pipeline(const PipelineSpec& spec);

}  // namespace draftlab

#pragma once

#include <cstdint>
#include <vector>

#include "reports/pipeline/pipeline_model.h"
#include "reports/stats/statistics.h"

namespace draftlab {

// Averages over a stretch of simulated time in which the consumer finished `batches`.
struct PipelineWindow {
  double end_seconds = 0;  // since the start of the phase
  double seconds = 0;      // its length
  int64_t batches = 0;
  double throughput = 0;                             // batches/s
  double producers_busy = 0, producers_blocked = 0;  // shares of all producers' time
  double consumer_busy = 0;
  double mean_queue = 0;  // waiting batches
  int64_t max_queue = 0;
};

// Means over the windows after the warm-up, with 95 % Monte Carlo intervals (batch means: the
// windows are long against the queue's memory, hence nearly independent).
struct PipelineSimulation {
  std::vector<PipelineWindow> windows;  // all, the warm-up too
  size_t warmup = 0;                    // windows of it
  Estimate throughput, producers_busy, consumer_busy, mean_queue;
  int64_t max_queue = 0;
};

// One stage, event by event, from an empty queue; what is simulated is the system that
// steady_state() describes. Producers start out of step: the i-th of n is i/n of a batch ahead. The
// times of each producer and of the consumer are streams of their own, the same in every stage, so
// that two stages differ by their rates and not by their luck. Deterministic.
PipelineSimulation simulate(const PipelineStage& stage, const SimulationOptions& options);

// Every phase of a case, and the seconds to its target with its simulated throughputs; low and high
// are the Monte Carlo interval.
struct SimulatedCase {
  std::vector<PipelineSimulation> phases;
  PipelineInterval seconds_to_target;
  // Share by which those seconds grow where the step takes the case's free_slowdown longer: what
  // scattering times make of "at no cost".
  double free_slowdown_cost = 0;
};
SimulatedCase simulate(const PipelineCase& pipeline, const SimulationOptions& options);

}  // namespace draftlab

#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "record/plan.h"
#include "record/run_folder.h"

namespace draftlab {

// What a plan costs, before it runs.

struct StepCount {
  int64_t run_steps = 0;        // of all runs, as if each trained alone
  int64_t segment_steps = 0;    // that are trained: shared segments count once
  int64_t shared_segments = 0;  // used by more than one run
};
StepCount count_steps(const PlanRecord& plan);

// Bytes of one checkpoint: weights and optimizer state in float32.
double checkpoint_bytes(const SegmentConfig& config);

// Bytes that a segment may need at once: two checkpoints (the last one stays while the next is
// written, in case that one breaks) and its rows of metrics. And all segments of a plan.
double disk_bytes(const SegmentConfig& config);
double disk_bytes(const PlanRecord& plan);

// Floating-point operations of one training step: linear layers in three passes, the frozen head in
// two on supervised rows, allowed attention scores in three, and the optimizer's matrix products.
double step_flop(const SegmentConfig& config, double tokens_per_sequence);
// The same of all evaluations of a segment: one pass over every stride-th position.
double evaluation_flop(const SegmentConfig& config, double tokens_per_sequence);

// A CPU thread's and a GPU's rate that estimates assume until something has been measured.
double assumed_flop_per_second(const TrainingConfig& training);

// Wall seconds per step by what its time depends on (step_identity in record/timing.h), from
// segments that ran to their end in their first life in this folder; evaluation, checkpoints and
// start-up included. Empty if there are none.
std::map<std::string, double> measured_seconds_per_step(const RunFolder& folder,
                                                        const PlanRecord& plan);

struct TimeEstimate {
  double seconds = 0;
  bool measured = false;  // every kind of step has been measured
};
// Wall time of segments that take `seconds` each, in the order of the plan, with `jobs` workers at
// once: shared evenly, but no shorter than the longest chain of segments that wait for each other.
double wall_time(const PlanRecord& plan, const std::vector<double>& seconds, int jobs);
// Wall time of the whole plan with `jobs` workers at once.
TimeEstimate estimate_time(const PlanRecord& plan, int jobs, double tokens_per_sequence,
                           const std::map<std::string, double>& seconds_per_step);

}  // namespace draftlab

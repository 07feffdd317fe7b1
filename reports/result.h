#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "record/metrics.h"
#include "record/plan.h"
#include "record/run_folder.h"
#include "reports/measure.h"
#include "reports/statistics.h"

namespace draftlab {

enum class Split { kHeldOut, kTuning };
enum class Clock { kSteps, kSeconds };

// The steps from one evaluation to the next.
struct GradientRow {
  int64_t step = 0;          // the last of them
  double norm = 0;           // mean of the global norms before clipping
  double clipped_share = 0;  // of the steps
  double schedule = 0;       // factor on the rate at `step`; NaN where the rate is 0
};

// One run (one curve) with all its numbers and identities; a report is computed from these alone.
struct Result {
  std::string run, arm, point;  // as in PlannedRun
  OptimizerConfig optimizer;
  Seeds seeds;
  std::vector<std::string> segments;
  SegmentConfig config;  // of the last segment

  // "done", "diverged", "failed", "interrupted" as the worker wrote it; "unfinished" (no outcome
  // yet), "not started", "unreadable" (a file of it is broken).
  std::string outcome = "not started";
  std::string reason;  // empty when done
  bool done() const { return outcome == "done"; }
  bool diverged() const { return outcome == "diverged"; }

  int64_t steps = 0, tokens = 0;
  double train_seconds = 0;  // data + model + optimizer
  double data_seconds = 0, model_seconds = 0, optimizer_seconds = 0;
  double clipped_share = 0;       // of steps; NaN without steps
  int64_t peak_memory_bytes = 0;  // largest over its segments; 0: not known
  std::string weights_hash;
  std::optional<bool> alone;  // false: another worker ran beside it; nothing: not recorded
  std::vector<EvaluationRow> held_out, tuning;  // in step order
  std::vector<UpdateRow> updates;               // in step order; empty in old folders
  std::vector<GradientRow> gradients;           // one for each evaluated step but the first
  std::optional<Baselines> baselines;
  JsonObject provenance;  // of the last segment that has one

  // Infinity: not reached, or diverged. Nothing: no target, or the run may still get there.
  std::optional<double> steps_to_target, seconds_to_target;

  const std::vector<EvaluationRow>& rows(Split split) const {
    return split == Split::kHeldOut ? held_out : tuning;
  }
  // Of the first and the last evaluation; NaN if there is none.
  double first(Split split, Measure measure) const;
  double last(Split split, Measure measure) const;
  // The value at the planned last step; NaN if the run never got there.
  double final(Split split, Measure measure) const;
  std::vector<Point> curve(Measure measure, Clock clock) const;  // held-out
};

// "1" where the three seeds are equal, else "weights 1, data 2, noise 3".
std::string seed_text(const Seeds& seeds);
bool operator==(const Seeds& a, const Seeds& b);

// One Result per planned run, in the plan's order, whatever state its folder is in.
std::vector<Result> load_results(const RunFolder& folder, const PlanRecord& plan);

}  // namespace draftlab

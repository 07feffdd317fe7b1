#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "record/decoding.h"
#include "record/lives.h"
#include "record/metrics.h"
#include "record/plan.h"
#include "record/run_folder.h"
#include "record/timing.h"
#include "record/transfer.h"
#include "reports/stats/statistics.h"
#include "reports/study/measure.h"
#include "reports/study/pause.h"

namespace draftlab {

enum class Split { kHeldOut, kTuning };
enum class Clock { kSteps, kTokens, kSeconds };
// Of an evaluation: steps, supervised tokens or seconds of training before it.
double time_of(const EvaluationRow& row, Clock clock);

// The steps from one evaluation to the next.
struct GradientRow {
  int64_t step = 0;          // the last of them
  double norm = 0;           // mean of the global norms before clipping
  double clipped_share = 0;  // of the steps
  double schedule = 0;       // factor on the rate at `step`; NaN where the rate is 0
};

// What a run trained with from one switch to the next.
struct RunStage {
  SegmentConfig config;
  std::vector<TransferRow> transfer;  // what became of the optimizer state of the stage before
};

// One run (one curve) with all its numbers and identities; a report is computed from these alone.
struct Result {
  std::string run, arm, point, phase;  // as in PlannedRun
  std::string folder;                  // as Source::label (study.h)
  OptimizerConfig optimizer;
  Seeds seeds;
  std::vector<std::string> segments;
  SegmentConfig config;          // of the last segment
  std::vector<RunStage> stages;  // one for each segment

  // "done", "diverged", "failed", "interrupted" as the worker wrote it; "dropped": a trial that was
  // done at a rung (runner/halving.h) and not trained further; "unfinished" (no outcome yet), "not
  // started", "unreadable" (a file of it is broken).
  std::string outcome = "not started";
  std::string reason;  // empty when done
  bool done() const { return outcome == "done"; }
  bool diverged() const { return outcome == "diverged"; }
  bool dropped() const { return outcome == "dropped"; }

  int64_t steps = 0, tokens = 0;
  // Data + model + optimizer, as measured; or, where `seconds_from_probe`, what the steps would
  // have taken alone (probe.h), here and in the evaluations.
  double train_seconds = 0;
  double data_seconds = 0, model_seconds = 0, optimizer_seconds = 0;
  double clipped_share = 0;       // of steps; NaN without steps
  int64_t unlabelled_steps = 0;   // whose blocks had no label that counts: no gradient, no loss
  int64_t peak_memory_bytes = 0;  // largest over its segments; 0: not known
  std::string weights_hash;
  std::optional<bool> alone;        // false: another worker ran beside it; nothing: not recorded
  std::optional<Timing> probe;      // of the last segment's steps, or of steps like them
  bool seconds_from_probe = false;  // it was not alone, and all its stages have a timing
  bool resumed = false;             // a segment of it had several workers, one after another
  std::vector<Pause> pauses;        // that `train_seconds` holds; empty where it is from a probe
  std::vector<EvaluationRow> held_out, tuning;  // in step order
  std::vector<UpdateRow> updates;               // in step order; empty in old folders
  std::vector<GradientRow> gradients;           // one for each evaluated step but the first
  std::vector<Point> schedule;  // factor on the rate against steps, thinned out (decimate.h)
  std::optional<Baselines> baselines;
  std::optional<DecodingRecord> decoding;  // of its last segment, where that was tried
  // Where and with what its steps were computed, in order; of its segments those that contributed.
  std::vector<Life> lives;

  // Infinity: not reached, or diverged. Nothing: no target, or the run may still get there.
  std::optional<double> steps_to_target, tokens_to_target, seconds_to_target;
  const std::optional<double>& to_target(Clock clock) const;

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

// One Result per planned run, in the plan's order, with what the plan says of it: not started.
std::vector<Result> planned_results(const PlanRecord& plan);
// One Result per planned run, in the plan's order, whatever state its folder is in.
std::vector<Result> load_results(const RunFolder& folder, const PlanRecord& plan);

}  // namespace draftlab

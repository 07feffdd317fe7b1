#pragma once

#include <filesystem>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "record/choice.h"
#include "record/run_folder.h"
#include "record/segment.h"
#include "record/store_facts.h"

namespace draftlab {

// A level of held-out quality fixed before anything ran; time to target counts the first of two
// evaluations in a row that reach it.
struct TargetLevel {
  std::string metric;  // "val_loss" or "acceptance_length"; "": no target
  double value = 0;
};

// What a run is for: "" where nothing is tuned; "trial": it helps to choose its arm's setting;
// "final": the chosen setting with a fresh seed, whose numbers are reported.
inline constexpr char kTrial[] = "trial", kFinal[] = "final";

// One curve of the report: a path through segments.
struct PlannedRun {
  std::string name;           // unique; "muon lr=0.01 seed=1"
  std::string arm;            // name of the arm in the sweep file
  std::string point;          // which point of the arm's grid: "lr=0.01"; "" for an only one
  OptimizerConfig optimizer;  // of its last segment
  Seeds seeds;
  std::vector<std::string> segments;  // ids, in order
  std::string phase;
};

struct PlannedSegment {
  std::string id;
  SegmentConfig config;
};

// How one point of an arm's grid did in the trials: the metric of the plan's target (acceptance
// length without one) and the loss on the tuning split at the last step.
struct TrialScore {
  std::string point;
  int64_t finished = 0, diverged = 0;  // runs, one a tuning seed
  // Over the finished ones; NaN: there are none. The loss is on disk only where it had a tie to
  // break.
  double mean = std::numeric_limits<double>::quiet_NaN();
  double loss = std::numeric_limits<double>::quiet_NaN();
};

// What the trials of an arm led to, and the numbers that decided (record/choice.h has the rule).
struct TuningDecision {
  std::string arm, metric;
  std::vector<TrialScore> trials;  // all that had run by then
  std::string best;                // point; "" where every run of the arm diverged
  std::string extended;            // new point to try, because `best` lies on an edge; or ""
  bool limited = false;            // it is nearer than a step of the grid: the option ends there
  // Of a rung of successive halving: the step at which the trials were judged, and the points that
  // go on from there, best first. 0 and none where the trials went to their end.
  int64_t step = 0;
  std::vector<std::string> kept = {};
};

// The choice among trials (an index is one into `trials`); nothing where none has a number.
std::optional<Choice> choice_of(const std::vector<TrialScore>& trials, const std::string& metric);

// What is to run: resolved once, frozen before anything of it runs, never derived from the sweep
// file again. A plan with tuning grows by phases, each frozen when the one before it has ended.
struct PlanRecord {
  std::string name;                    // of the sweep
  std::string sweep_file;              // where it came from
  Json sweep;                          // its content as read, with the changes made
  std::vector<std::string> changes;    // of the command line, "training.steps=100"
  Json store;                          // the store's specification (or {"folder":...}) as read
  std::filesystem::path store_folder;  // absolute
  std::string store_hash;              // identity of the store; "" in a plan that is only shown
  // What the store was when the plan was frozen; nothing in a plan of an older version.
  std::optional<StoreFacts> store_facts;
  TargetLevel target;
  int64_t checkpoint_every = 100;
  std::vector<PlannedSegment> segments;  // parents before children
  std::vector<PlannedRun> runs;
  std::vector<std::string> notices;
  int64_t phases = 1;
  std::vector<TuningDecision> decisions;  // of all phases behind the first
};

JsonObject to_json(const PlanRecord& plan);
// plan.json: the first phase.
void write_plan(const std::filesystem::path& file, const PlanRecord& plan);
PlanRecord read_first_phase(const RunFolder& folder);

// All phases in one object: the plan as in plan.json, how many phases it has and what decided them.
JsonObject all_phases_to_json(const PlanRecord& plan);
// Reads it back. Throws Error naming the key, or the run that does not fit its segments.
PlanRecord all_phases_from_json(const Json& value, const std::string& where);

// phase_N.json: the runs, segments and decisions of phase `plan.phases` + 1, which follow from what
// has run. Adds them to the plan.
void write_next_phase(const RunFolder& folder, const PlanRecord& phase, PlanRecord& plan);

// All phases of a result folder as one plan; a segment that two phases use is in it once. Throws
// Error where a run does not fit its segments: the file was edited.
PlanRecord read_plan(const RunFolder& folder);
// The same up to the first phase that cannot be read; `broken` says why, or is "" where all could.
PlanRecord read_plan(const RunFolder& folder, std::string& broken);

}  // namespace draftlab

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "record/plan.h"
#include "record/run_folder.h"

namespace draftlab {

// Where one run of a plan stands, read from its folder at any time: while it runs, after a crash.
struct RunStatus {
  std::string run;
  // "done", "diverged", "failed", "interrupted", "running" (a worker lives), "waiting" (for its
  // turn). A run that was running when its worker vanished is interrupted.
  std::string state;
  std::string reason;                       // of diverged and failed
  int64_t step = 0, steps = 0;              // last step seen, planned last step
  std::optional<double> val_loss;           // of the last evaluation, held-out
  std::optional<double> acceptance_length;  // the same, data labels
  double train_seconds = 0;
  std::string arm, phase;
  std::optional<double> train_loss;        // of the last step
  std::optional<double> steps_per_second;  // of a running one, lately
  std::string log;                         // of the worker, relative to the folder; "": none yet
};

struct PlanStatus {
  std::vector<RunStatus> runs;  // one per planned run, in the plan's order
  // Until the plan's runs are done, by the pace of those that run and have run; nothing where there
  // is none yet, or nothing is left. Later phases are not in the plan and not counted.
  std::optional<double> seconds_left;
};

// Files that cannot be read make a run "failed", with the reason.
PlanStatus read_status(const RunFolder& folder, const PlanRecord& plan);

// The arm whose reported runs are best so far by the metric that decides, over those that are done:
// "Muon, acceptance_length 1.400 over 2 of 3 runs". "" while none is done.
std::string best_so_far(const std::vector<RunStatus>& runs, const PlanRecord& plan);

// The table that `draftlab status` prints, and one line that counts the states.
std::string text_of(const std::vector<RunStatus>& runs);
// [{"run", "arm", "phase", "state", "step", "steps", ...}]; what is not known is null.
JsonArray to_json(const std::vector<RunStatus>& runs);

}  // namespace draftlab

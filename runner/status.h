#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

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
};

// One per planned run, in the plan's order. Files that cannot be read make a run "failed", with the
// reason.
std::vector<RunStatus> read_status(const RunFolder& folder, const PlanRecord& plan);

// The table that `draftlab status` prints, and one line that counts the states.
std::string text_of(const std::vector<RunStatus>& runs);

}  // namespace draftlab

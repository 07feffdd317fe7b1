#pragma once

#include <cstdint>
#include <iosfwd>
#include <optional>

#include "programs/reuse.h"
#include "record/plan.h"
#include "record/run_folder.h"

namespace draftlab {

// Cores of this machine that we may use.
int64_t available_cores();
// As many workers as the cores carry, at least 1; one on a GPU, which they would share.
int default_jobs(const PlanRecord& plan);

// Throws Error where the volume of `folder` (or its nearest existing parent) has less free than
// this.
void require_free_space(const std::filesystem::path& folder, double bytes);
double free_space(const std::filesystem::path& folder);

// Runs what a frozen plan still lacks; the caller holds the folder's lock. Stops workers that a
// killed runner left behind, then starts workers until all is done or the user interrupts. Progress
// goes to `out`, as a live line if it is a terminal. REQUIRES: an InterruptCounter.
enum class Execution { kFinished, kUnfinished, kInterrupted };  // finished: every run has a result
Execution execute_plan(const RunFolder& folder, const PlanRecord& plan, int jobs, std::ostream& out,
                       bool live);

// The same for each phase of the plan, the later ones frozen as they begin; then the timing probe,
// where runs were not alone, and the report, whose path is printed; what `run` and `resume` end
// with. Returns the exit status: 0 if nothing is left to do.
int execute_and_report(const RunFolder& folder, PlanRecord plan, std::optional<int64_t> jobs,
                       const Reuse& reuse = {});

// The same of a folder that has run before (resume_command.cc): its store must be the plan's, and
// what else has changed since is told.
int resume_plan(const RunFolder& folder, PlanRecord plan, std::optional<int64_t> jobs);

}  // namespace draftlab

#pragma once

#include <iosfwd>

#include "record/plan.h"
#include "record/run_folder.h"

namespace draftlab {

// Measures a step of every arm while no other worker runs, one arm after the other, so that seconds
// compare although the runs shared the machine. One segment stands for all that differ from it in
// seeds, rates and steps alone (step_identity): the first of a finished run that is reported.
// Nothing is measured twice, nor where every reported run was alone anyway. A probe that fails is
// told and leaves the results as they are. Returns
// false if the user interrupted and something is left to measure. REQUIRES: an InterruptCounter.
bool probe_timings(const RunFolder& folder, const PlanRecord& plan, std::ostream& out);

}  // namespace draftlab

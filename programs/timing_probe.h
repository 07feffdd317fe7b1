#pragma once

#include <iosfwd>
#include <map>
#include <optional>
#include <string>
#include <vector>

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

// The same of these segments of the plan, arm by arm, whatever ran in the folder: seconds of a step
// alone. Throws Error where the machine is busy or an arm cannot be timed. Nothing if the user
// interrupted. REQUIRES: an InterruptCounter; the memory for all at once.
struct TimedArm {
  std::string arm;
  const PlannedSegment* segment;
};
std::optional<std::map<std::string, double>> time_arms(const RunFolder& folder,
                                                       const PlanRecord& plan,
                                                       const std::vector<TimedArm>& arms,
                                                       std::ostream& out);

}  // namespace draftlab

#pragma once

#include <set>
#include <string>

#include "record/plan.h"
#include "record/run_folder.h"

namespace draftlab {

// These segments of the plan and all that start from them.
std::set<std::string> with_descendants(const PlanRecord& plan, std::set<std::string> segments);

// Segments that no other run than these goes through, by the names of the runs.
std::set<std::string> own_segments(const PlanRecord& plan, const std::set<std::string>& runs);

// Takes away what these segments have computed, so that they are trained anew; with trials go the
// phases that followed from them. Returns the plan that is left. A kill in between leaves a folder
// in which some of them are still there, whole. The caller holds the folder's lock. Throws Error
// naming the segment where a worker still trains it.
PlanRecord forget(const RunFolder& folder, const PlanRecord& plan,
                  const std::set<std::string>& segments);

}  // namespace draftlab

#pragma once

#include <iosfwd>

#include "record/plan.h"
#include "record/run_folder.h"

namespace draftlab {

// Says which runs that have a result were computed by another build of draftlab, at least in part;
// nothing where none was.
void tell_other_builds(const RunFolder& folder, const PlanRecord& plan, std::ostream& out);

// Takes away what those runs have computed, and what started from it, so that it is trained anew;
// with their trials go the phases that followed from them. Returns the plan that is left. The
// caller holds the folder's lock, and no worker trains. Throws Error naming the segment where one
// still does.
PlanRecord forget_other_builds(const RunFolder& folder, const PlanRecord& plan, std::ostream& out);

}  // namespace draftlab

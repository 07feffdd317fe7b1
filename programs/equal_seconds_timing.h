#pragma once

#include <iosfwd>

#include "record/plan.h"
#include "record/run_folder.h"
#include "runner/planner.h"
#include "runner/sweep.h"

namespace draftlab {

// The sweep's content with "compare" resolved: as the folder's plan has frozen it, else by timing
// one segment of each arm alone, in turn, in OUT/timing, which is removed afterwards. Throws Error
// where the machine is busy, or the user interrupts. REQUIRES: sweep.equal_seconds; the folder's
// lock; a store that is built.
Json with_step_seconds(const Sweep& sweep, const PlannedStore& store, const RunFolder& folder,
                       std::ostream& out);

}  // namespace draftlab

#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "record/plan.h"
#include "record/run_folder.h"

namespace draftlab {

// Writes segment.json of a planned segment: the same bytes as when it was trained, unless the store
// has moved. Throws Error.
void write_task_of(const RunFolder& folder, const PlanRecord& plan, const PlannedSegment& segment);

// Runs one worker while no other does: `draftlab-worker COMMAND` with the segment's file and those
// of `also`, to its end. Asks it to stop, and then kills it, if the user interrupts. Why it failed,
// or "". REQUIRES: an InterruptCounter.
std::string run_lone_worker(const std::string& command, const RunFolder& folder,
                            const PlannedSegment& segment,
                            const std::vector<std::filesystem::path>& also);

}  // namespace draftlab

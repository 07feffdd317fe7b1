#pragma once

#include <atomic>
#include <filesystem>

#include "record/outcome.h"
#include "record/segment.h"

namespace draftlab {

// Trains one segment in its folder (record/run_folder.h): from its last checkpoint, from its
// parent's, or from initial weights. Writes provenance, baselines, metrics, checkpoints and
// progress, and last of all the outcome, which it also returns. Deterministic on the CPU: a run
// that was stopped anywhere and resumed ends with the same weights and the same metric rows (but
// for seconds).
//
// `stop`: when it turns true the segment writes a checkpoint after the step at hand and ends as
// Interrupted. Throws Error for what keeps it from running (a broken store, a missing parent...).
Outcome train_segment(const SegmentTask& task, const std::filesystem::path& segment_folder,
                      const std::atomic<bool>& stop);

}  // namespace draftlab

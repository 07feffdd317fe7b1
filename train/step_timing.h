#pragma once

#include <atomic>
#include <filesystem>

#include "record/segment.h"

namespace draftlab {

// Measures the steps of a segment and writes timing.json into its folder; nothing else there
// changes. For true numbers nothing else may run on the machine. Trains on in memory from where
// training would go on: two steps to warm up, then twenty periods (record/timing.h), or as many as
// 20 seconds allow, but at least five steps and three periods. Batches and rates are those of the
// segment's first steps, so that arms are measured on equal batches.
//
// `stop`: when it turns true, false is returned and nothing has been written. Throws Error as
// train_segment() does, and for a loss that diverges.
bool time_segment(const SegmentTask& task, const std::filesystem::path& segment_folder,
                  const std::atomic<bool>& stop);

}  // namespace draftlab

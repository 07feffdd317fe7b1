#pragma once

#include <atomic>
#include <filesystem>
#include <vector>

#include "record/segment.h"

namespace draftlab {

struct TimedSegment {
  SegmentTask task;
  std::filesystem::path folder;
};

// Measures the steps of segments and writes timing.json into the folder of each; nothing else there
// changes. For true numbers nothing else may run on the machine. Several are measured in turn, a
// step of each in an order that changes from round to round (and is the same in every run), so that
// whatever slows the machine for a while slows them alike. Each trains on in memory from where its
// training would go on: two steps to warm up, then twenty periods (record/timing.h), or as many as
// 20 seconds allow, but at least five steps and three periods. Batches and rates are those of the
// segments' first steps, so that arms are measured on equal batches. All are in memory at once.
//
// `stop`: when it turns true, false is returned and nothing has been written. Throws Error as
// train_segment() does, and for a loss that diverges.
bool time_segments(const std::vector<TimedSegment>& segments, const std::atomic<bool>& stop);

}  // namespace draftlab

#pragma once

#include <atomic>
#include <filesystem>
#include <functional>
#include <optional>

#include "record/decoding.h"
#include "record/segment.h"

namespace draftlab {

// Tries out the drafter that a segment ended with: decodes prompts by the target alone and with the
// drafter, in turn, batch by batch, the first of the two changing, so that what slows the machine
// for a while slows both alike. `on_progress` is told how many prompts are done. Nothing where
// `stop` turned true. Throws Error for a segment that is not trained to its end, a target that is
// not the store's any more, and a prompt that does not fit it. Deterministic but for seconds.
std::optional<DecodingRecord> decode_with(const SegmentTask& task,
                                          const std::filesystem::path& segment_folder,
                                          const DecodingSettings& settings,
                                          const std::function<void(size_t, size_t)>& on_progress,
                                          const std::atomic<bool>& stop);

}  // namespace draftlab

#pragma once

#include <cstdint>
#include <vector>

#include "store/reader.h"

namespace draftlab {

// Which of these held-out records has a training record with nearly its prompt: the sets of their
// prompts' token ids share `similarity` of their union (Jaccard) or more. A prompt is the tokens
// before the first response token; tokens that more than half of the training prompts have, such as
// those of a chat template, are left out. 1 or 0 for each of `held_out`, in order. A pure function.
inline constexpr double kNearCopy = 0.6;
std::vector<int64_t> near_copies(const std::vector<StoreRecord>& training,
                                 const std::vector<StoreRecord>& held_out,
                                 double similarity = kNearCopy);

}  // namespace draftlab

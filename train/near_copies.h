#pragma once

#include <cstdint>
#include <vector>

#include "train/prompt_words.h"

namespace draftlab {

// Two prompts are near copies of each other if they share so much of the words of both (Jaccard:
// the words that they share over all that one of them has).
inline constexpr double kNearCopy = 0.6;

// 1 for each of `held_out` that has a near copy in `training`, else 0. A pure function.
std::vector<int64_t> near_copies(const std::vector<WordSet>& training,
                                 const std::vector<WordSet>& held_out);

// The group of each prompt: prompts that a chain of near copies joins are of one. A group has the
// index of its first prompt as its number. A pure function.
std::vector<int64_t> groups_of_near_copies(const std::vector<WordSet>& prompts);

}  // namespace draftlab

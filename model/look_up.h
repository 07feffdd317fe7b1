#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "model/block_batch.h"

namespace draftlab {

// Drafting without training: what followed the last time (prompt look-up decoding, Saxena 2023).
// Finds the longest suffix of `text` that also ends earlier in it, of several such places the
// latest, and returns the `count` tokens behind that place; past the end of the text they go on
// with what was drafted, so that a repetition is repeated. Empty where the last token is new. Time
// and memory are linear in the text.
std::vector<int32_t> look_up(std::span<const int32_t> text, int64_t count);

// The same along stored text, as a baseline: target ids [N*B], slot 0 is -1, slots 1..B-1 are
// looked up in the sequence up to the anchor, its prompt included; all -1 where nothing is found.
std::vector<int64_t> look_up_drafts(std::span<const AnchoredSequence> sequences,
                                    int64_t block_size);

}  // namespace draftlab

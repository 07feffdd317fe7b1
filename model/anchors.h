#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace draftlab {

// Where blocks start. A position is eligible if it and its successor are supervised (SpecForge's
// rule).

// Rising. loss_mask[S] is 1 on supervised tokens.
std::vector<int64_t> eligible_anchors(std::span<const uint8_t> loss_mask);

// For training: at most `count` eligible positions, drawn without replacement, rising. A pure
// function of its arguments, so every optimizer sees the same blocks: `record` is the sequence's
// index in the store, `visit` counts how often it was trained on before.
std::vector<int64_t> draw_anchors(std::span<const uint8_t> loss_mask, int64_t count,
                                  int64_t noise_seed, int64_t record, int64_t visit);

// For evaluation: of the positions whose own token and B-1 labels are all supervised, every
// stride-th.
std::vector<int64_t> evaluation_anchors(std::span<const uint8_t> loss_mask, int64_t block_size,
                                        int64_t stride);

}  // namespace draftlab

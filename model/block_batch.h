#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

namespace draftlab {

// What one forward pass of a drafter sees. Sequences are laid end to end without padding: T rows in all.
// Blocks are sorted by sequence, then anchor. N blocks of B slots; row n*B+k is slot k of block n.
struct BlockBatch {
  at::Tensor context;                  // [T, L_t*H] taps, the drafter's dtype
  std::vector<int64_t> sequence_begin;  // [R+1] first context row of each sequence, then T
  std::vector<int64_t> block_sequence;  // [N] index of the block's sequence
  std::vector<int64_t> block_anchor;    // [N] position of its anchor inside that sequence; context rows below
                                        // the anchor are visible, so a sequence may be cut at its last anchor
  std::vector<int64_t> token_ids;       // [N*B] slot 0 the anchor's token, the others the mask token
  std::vector<int64_t> labels;          // [N*B] draft-vocabulary ids; -1 in slot 0, where unsupervised, and
                                        // where the label is not in the draft vocabulary
  std::vector<float> weights;           // [N*B] m_k * w_k of the loss; 0 where the label is -1
  int64_t block_size = 0;

  int64_t blocks() const { return static_cast<int64_t>(block_anchor.size()); }
};

}  // namespace draftlab

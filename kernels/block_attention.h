#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

#include "kernels/block_layout.h"

namespace draftlab {

struct AttentionHeads {
  int64_t query = 0;      // nh
  int64_t key_value = 0;  // nkv, divides nh; each serves nh/nkv consecutive query heads
  int64_t dim = 0;        // hd
};

// Attention of a DFlash drafter: slot o of a block with anchor a sees of its own sequence's context
// the positions j, and of its own block the slots p, with
//   window 0 ("full_attention"):    j < a,                        every p
//   window W ("sliding_attention"): j < a and j >= a + o - (W-1),  p <= o      (SpecForge's
//   convention)
// One softmax over both, scale hd^-0.5. Neither a mask nor the scores of all pairs are ever stored:
// scores live in one tile of neighbouring blocks, against the context rows that some of them see.
//
// q, out [N*B, nh*hd]; k, v [T + N*B, nkv*hd], context rows first; log_sum [nh, N*B] is what the
// backward pass needs (log of the sum of e^score; 0 where a row sees nothing). One floating dtype.
// `largest` [nh, N*B], if given, gets each row's largest score (-infinity where it sees nothing).
// Outputs have their shapes already. Deterministic for a number of threads; hidden context rows
// change no bit as long as they are finite.
void block_attention(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                     const BlockLayout& layout, const AttentionHeads& heads, int64_t window,
                     const at::Tensor& out, const at::Tensor& log_sum,
                     const at::Tensor* largest = nullptr);

// Gradients dq, dk, dv (written, not added to) from d_out. `scratch` is resized to
// [2, nh, T + N*B, hd]: pass the same tensor again to save the allocation.
void block_attention_backward(const at::Tensor& d_out, const at::Tensor& q, const at::Tensor& k,
                              const at::Tensor& v, const at::Tensor& out, const at::Tensor& log_sum,
                              const BlockLayout& layout, const AttentionHeads& heads,
                              int64_t window, const at::Tensor& dq, const at::Tensor& dk,
                              const at::Tensor& dv, at::Tensor& scratch);

// The same by ATen alone, block by block: the specification, and what devices without a kernel run.
void plain_block_attention(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                           const BlockLayout& layout, const AttentionHeads& heads, int64_t window,
                           const at::Tensor& out, const at::Tensor& log_sum,
                           const at::Tensor* largest = nullptr);
void plain_block_attention_backward(const at::Tensor& d_out, const at::Tensor& q,
                                    const at::Tensor& k, const at::Tensor& v, const at::Tensor& out,
                                    const at::Tensor& log_sum, const BlockLayout& layout,
                                    const AttentionHeads& heads, int64_t window,
                                    const at::Tensor& dq, const at::Tensor& dk,
                                    const at::Tensor& dv);

}  // namespace draftlab

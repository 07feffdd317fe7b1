#pragma once

#include <ATen/core/Tensor.h>

namespace draftlab {

// QK-clip (MuonClip, Kimi K2, arXiv 2507.20534), after an optimizer step: where the largest
// attention logit S_h of head h, in the forward pass before it, was above `threshold`, the rows of
// that head in both projections are multiplied by the root of gamma_h = threshold / S_h. A key head
// shared by several query heads takes the smallest gamma of its group, and so do they.
// largest_logits [heads], any floating dtype; q_weight has heads * d rows (or, for a vector shared
// by all heads, is that vector and heads is 1), k_weight any divisor of heads times d. Changes the
// weights in place. Throws Error, before anything changes, for a logit that is not finite and for
// shapes that do not fit.
void qk_clip(const at::Tensor& q_weight, const at::Tensor& k_weight,
             const at::Tensor& largest_logits, double threshold);

}  // namespace draftlab

#pragma once

#include <ATen/core/Tensor.h>

#include "kernels/block_layout.h"

namespace draftlab {

// A causal depth-wise convolution with SiLU: y[t] = silu(p[t]), silu(p) = p / (1 + e^-p), with
//   p[t, c] = sum over j < K of weight[c, j] * x[t - (K-1) + j, c].
// A context row's taps end at the start of its sequence, and are 0 before. A block's slots follow
// the context rows j < anchor of its sequence: slot o sees the slots o-(K-1) .. o, and where these
// are negative the last context rows before the anchor. Rows of padding blocks give 0.
// x, y [T + N*B, D], context rows first, rows may lie apart; weight [D, K] (a conv1d weight
// [D, 1, K] viewed so); one floating dtype. y has its shape already and is not x. Deterministic,
// whatever the number of threads.
void causal_convolution(const at::Tensor& x, const at::Tensor& weight, const BlockLayout& layout,
                        const at::Tensor& y);

// From the gradient dy of y and the x of the forward pass (dx, d_weight written, not added to):
//   dp = dy * s * (1 + p * (1 - s)),  s = 1 / (1 + e^-p)
//   dx[r] = sum over the taps (t, j) that see row r of weight[j] * dp[t],
//   d_weight[c, j] = sum over t of dp[t, c] * x[t - (K-1) + j, c].
// Context rows gather from the blocks that see them too. `dx` is not `dy`.
void causal_convolution_backward(const at::Tensor& dy, const at::Tensor& x,
                                 const at::Tensor& weight, const BlockLayout& layout,
                                 const at::Tensor& dx, const at::Tensor& d_weight);

// The same by ATen alone: the specification, and what devices without a kernel run.
void plain_causal_convolution(const at::Tensor& x, const at::Tensor& weight,
                              const BlockLayout& layout, const at::Tensor& y);
void plain_causal_convolution_backward(const at::Tensor& dy, const at::Tensor& x,
                                       const at::Tensor& weight, const BlockLayout& layout,
                                       const at::Tensor& dx, const at::Tensor& d_weight);

}  // namespace draftlab

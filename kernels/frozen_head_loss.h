#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <span>
#include <vector>

namespace draftlab {

// Cross entropy of softmax(hidden . head^T) against labels, in nats, for a head that is not
// trained:
//   losses[r] = log(sum over v of e^(hidden[r].head[v])) - hidden[r].head[labels[r]]
//   d_hidden[r] = scales[r] * (sum over v of p[r,v] head[v] - head[labels[r]])
// hidden, d_hidden [M, H], head [V, H], one floating dtype; every label in 0..V-1; losses, scales
// [M].
//
// The [M, V] logits never exist: chunks of the vocabulary pass through one small buffer, with a
// running maximum and sum per row and a running sum of e^logit * head[v] (the online softmax of
// Milakov and Gimelshein 2018, and of flash attention). Two products per chunk in all.
// Deterministic for a number of threads.
void frozen_head_loss(const at::Tensor& hidden, const at::Tensor& head,
                      std::span<const int64_t> labels, std::span<const double> scales,
                      std::span<double> losses, const at::Tensor& d_hidden);

// The most likely ids of each row, falling; of equally likely ones the lowest comes first.
struct FrozenHeadTop {
  int64_t k = 1;
  std::span<int64_t> ids;  // [M, k]; -1 where fewer than k logits are above -infinity
  std::span<double> log_probabilities = {};  // [M, k], -infinity beside an id of -1; or empty
};

// Without gradients: the same losses, and each row's most likely ids. A label of -1 gives the
// loss 0.
void frozen_head_top(const at::Tensor& hidden, const at::Tensor& head,
                     std::span<const int64_t> labels, std::span<double> losses,
                     const FrozenHeadTop& top);

// log(sum over v of e^(hidden[r].head[v])) of each row [M]: what its logits are normalized by.
std::vector<double> frozen_head_log_sums(const at::Tensor& hidden, const at::Tensor& head);

// The same by ATen alone: the specification, and what devices without a kernel run.
std::vector<double> plain_frozen_head_log_sums(const at::Tensor& hidden, const at::Tensor& head);
void plain_frozen_head_loss(const at::Tensor& hidden, const at::Tensor& head,
                            std::span<const int64_t> labels, std::span<const double> scales,
                            std::span<double> losses, const at::Tensor& d_hidden);
void plain_frozen_head_top(const at::Tensor& hidden, const at::Tensor& head,
                           std::span<const int64_t> labels, std::span<double> losses,
                           const FrozenHeadTop& top);

}  // namespace draftlab

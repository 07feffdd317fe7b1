#pragma once

#include "kernels/lanes.h"
#include "model/losses/loss_rule.h"

namespace draftlab::losses {

// a = sum of min(p, q): the share of the drafter's samples that the target accepts in speculative
// sampling.
template <typename T>
DRAFTLAB_INLINE double overlap(const DistributionRow<T>& row) {
  const T sum =
      sum_over<T>(row.size, [&](int64_t v) { return row.p[v] < row.q[v] ? row.p[v] : row.q[v]; });
  // The minimum forgets a NaN of p. A distribution with one has nothing else.
  return static_cast<double>(sum + 0 * row.p[0]);
}

// Adds `weight` times the gradient of a for the logits of q: q_v ([q_v < p_v] - sum of those q that
// are below p).
template <typename T>
DRAFTLAB_INLINE void add_overlap_gradient(const DistributionRow<T>& row, T weight, T* d_logits) {
  const T below =
      sum_over<T>(row.size, [&](int64_t v) { return row.q[v] < row.p[v] ? row.q[v] : T(0); });
  for (int64_t v = 0; v < row.size; ++v)
    d_logits[v] += weight * row.q[v] * ((row.q[v] < row.p[v] ? T(1) : T(0)) - below);
}

// The same of rows by ATen alone: a as `losses`.
PlainLosses plain_overlap(const at::Tensor& log_p, const at::Tensor& log_q);

}  // namespace draftlab::losses

#pragma once

#include "kernels/lanes.h"
#include "model/losses/loss_rule.h"

namespace draftlab::losses {

// KL(p || q) of a row, and `weight` times its gradient for the logits of q, which is q - p.
template <typename T>
DRAFTLAB_INLINE double kullback_leibler(const DistributionRow<T>& row) {
  return static_cast<double>(
      sum_over<T>(row.size, [&](int64_t v) { return row.p[v] * (row.log_p[v] - row.log_q[v]); }));
}
template <typename T>
DRAFTLAB_INLINE void add_kullback_leibler_gradient(const DistributionRow<T>& row, T weight,
                                                   T* d_logits) {
  for (int64_t v = 0; v < row.size; ++v) d_logits[v] += weight * (row.q[v] - row.p[v]);
}

}  // namespace draftlab::losses

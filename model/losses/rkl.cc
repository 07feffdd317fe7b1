#include <ATen/ATen.h>

#include "kernels/lanes.h"
#include "model/losses/loss_rule.h"

namespace draftlab::losses {
namespace {

template <typename T>
DRAFTLAB_INLINE double add(const DistributionRow<T>& row, T weight, T* d_logits) {
  const T divergence =
      sum_over<T>(row.size, [&](int64_t v) { return row.q[v] * (row.log_q[v] - row.log_p[v]); });
  if (d_logits != nullptr) {
    for (int64_t v = 0; v < row.size; ++v)
      d_logits[v] += weight * row.q[v] * (row.log_q[v] - row.log_p[v] - divergence);
  }
  return static_cast<double>(weight) * static_cast<double>(divergence);
}

DRAFTLAB_CLONES double of_float(const DistributionRow<float>& row, float weight, float* d_logits) {
  return add(row, weight, d_logits);
}
DRAFTLAB_CLONES double of_double(const DistributionRow<double>& row, double weight,
                                 double* d_logits) {
  return add(row, weight, d_logits);
}

PlainLosses plain(const at::Tensor& log_p, const at::Tensor& log_q, const at::Tensor&) {
  const at::Tensor q = log_q.exp(), ratio = log_q - log_p;
  const at::Tensor losses = (q * ratio).sum(1);
  return {losses, q * (ratio - losses.unsqueeze(1))};
}

}  // namespace

const LossRule rkl_rule = {"rkl", of_float, of_double, plain};

}  // namespace draftlab::losses

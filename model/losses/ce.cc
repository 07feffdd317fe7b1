#include <ATen/ATen.h>

#include "kernels/lanes.h"
#include "model/losses/cross_entropy.h"

namespace draftlab::losses {
namespace {

template <typename T>
DRAFTLAB_INLINE double add(const DistributionRow<T>& row, T weight, T* d_logits) {
  if (row.label < 0) return 0;
  if (d_logits != nullptr) {
    for (int64_t v = 0; v < row.size; ++v) d_logits[v] += weight * row.q[v];
    d_logits[row.label] -= weight;
  }
  return -static_cast<double>(weight) * static_cast<double>(row.log_q[row.label]);
}

}  // namespace

DRAFTLAB_CLONES double cross_entropy(const DistributionRow<float>& row, float weight,
                                     float* d_logits) {
  return add(row, weight, d_logits);
}
DRAFTLAB_CLONES double cross_entropy(const DistributionRow<double>& row, double weight,
                                     double* d_logits) {
  return add(row, weight, d_logits);
}

PlainLosses plain_cross_entropy(const at::Tensor&, const at::Tensor& log_q,
                                const at::Tensor& labels) {
  const at::Tensor has_label = (labels >= 0).to(log_q.dtype()).unsqueeze(1);
  const at::Tensor label = labels.clamp_min(0).unsqueeze(1);
  const at::Tensor one_hot = at::zeros_like(log_q).scatter_(1, label, 1);
  return {-(has_label * log_q.gather(1, label)).squeeze(1), has_label * (log_q.exp() - one_hot)};
}

const LossRule ce_rule = {"ce", cross_entropy, cross_entropy, plain_cross_entropy};

}  // namespace draftlab::losses

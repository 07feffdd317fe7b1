#include <ATen/ATen.h>

#include "model/losses/overlap.h"

namespace draftlab::losses {
namespace {

template <typename T>
DRAFTLAB_INLINE double add(const DistributionRow<T>& row, T weight, T* d_logits) {
  if (d_logits != nullptr) add_overlap_gradient(row, -weight, d_logits);
  return static_cast<double>(weight) * (1 - overlap(row));
}

DRAFTLAB_CLONES double of_float(const DistributionRow<float>& row, float weight, float* d_logits) {
  return add(row, weight, d_logits);
}
DRAFTLAB_CLONES double of_double(const DistributionRow<double>& row, double weight,
                                 double* d_logits) {
  return add(row, weight, d_logits);
}

PlainLosses plain(const at::Tensor& log_p, const at::Tensor& log_q, const at::Tensor&) {
  const PlainLosses a = plain_overlap(log_p, log_q);
  return {1 - a.losses, -a.d_logits};
}

}  // namespace

PlainLosses plain_overlap(const at::Tensor& log_p, const at::Tensor& log_q) {
  const at::Tensor p = log_p.exp(), q = log_q.exp();
  const at::Tensor below = (q < p).to(q.dtype());
  return {at::minimum(p, q).sum(1), q * (below - (q * below).sum(1, /*keepdim=*/true))};
}

const LossRule tv_rule = {"tv", of_float, of_double, plain};

}  // namespace draftlab::losses

#include <ATen/ATen.h>

#include "model/losses/kullback_leibler.h"

namespace draftlab::losses {
namespace {

template <typename T>
DRAFTLAB_INLINE double add(const DistributionRow<T>& row, T weight, T* d_logits) {
  if (d_logits != nullptr) add_kullback_leibler_gradient(row, weight, d_logits);
  return static_cast<double>(weight) * kullback_leibler(row);
}

DRAFTLAB_CLONES double of_float(const DistributionRow<float>& row, float weight, float* d_logits) {
  return add(row, weight, d_logits);
}
DRAFTLAB_CLONES double of_double(const DistributionRow<double>& row, double weight,
                                 double* d_logits) {
  return add(row, weight, d_logits);
}

PlainLosses plain(const at::Tensor& log_p, const at::Tensor& log_q, const at::Tensor&) {
  const at::Tensor p = log_p.exp();
  return {(p * (log_p - log_q)).sum(1), log_q.exp() - p};
}

}  // namespace

const LossRule kl_rule = {"kl", of_float, of_double, plain};

}  // namespace draftlab::losses

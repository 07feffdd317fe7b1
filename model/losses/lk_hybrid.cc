#include <ATen/ATen.h>

#include <cmath>

#include "model/losses/kullback_leibler.h"
#include "model/losses/overlap.h"

namespace draftlab::losses {
namespace {

constexpr double kDecay = 3;  // of the share of kl

template <typename T>
DRAFTLAB_INLINE double add(const DistributionRow<T>& row, T weight, T* d_logits) {
  const double a = overlap(row), share = std::exp(-kDecay * a);
  if (d_logits != nullptr) {
    add_kullback_leibler_gradient(row, weight * static_cast<T>(share), d_logits);
    add_overlap_gradient(row, -weight * static_cast<T>(1 - share), d_logits);
  }
  return static_cast<double>(weight) * (share * kullback_leibler(row) + (1 - share) * (1 - a));
}

DRAFTLAB_CLONES double of_float(const DistributionRow<float>& row, float weight, float* d_logits) {
  return add(row, weight, d_logits);
}
DRAFTLAB_CLONES double of_double(const DistributionRow<double>& row, double weight,
                                 double* d_logits) {
  return add(row, weight, d_logits);
}

PlainLosses plain(const at::Tensor& log_p, const at::Tensor& log_q, const at::Tensor& labels) {
  const PlainLosses a = plain_overlap(log_p, log_q);
  const PlainLosses kl = kl_rule.plain(log_p, log_q, labels);
  const at::Tensor share = (-kDecay * a.losses).exp(), rows = share.unsqueeze(1);
  return {share * kl.losses + (1 - share) * (1 - a.losses),
          rows * kl.d_logits - (1 - rows) * a.d_logits};
}

}  // namespace

const LossRule lk_hybrid_rule = {"lk_hybrid", of_float, of_double, plain};

}  // namespace draftlab::losses

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>

#include "model/losses/overlap.h"

namespace draftlab::losses {
namespace {

constexpr double kFloor = 1e-5;

template <typename T>
DRAFTLAB_INLINE double add(const DistributionRow<T>& row, T weight, T* d_logits) {
  const double a = overlap(row);
  if (d_logits != nullptr && !(a < kFloor))
    add_overlap_gradient(row, -weight / static_cast<T>(a), d_logits);
  return -static_cast<double>(weight) * std::log(a < kFloor ? kFloor : a);
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
  const at::Tensor above = (a.losses < kFloor).logical_not().unsqueeze(1);
  const at::Tensor bounded = a.losses.clamp_min(kFloor);
  return {-bounded.log(), -a.d_logits * above / bounded.unsqueeze(1)};
}

}  // namespace

const LossRule nla_rule = {"nla", of_float, of_double, plain};

}  // namespace draftlab::losses

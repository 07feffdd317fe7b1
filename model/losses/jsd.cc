#include <ATen/ATen.h>

#include <cmath>

#include "kernels/lanes.h"
#include "model/losses/loss_rule.h"

namespace draftlab::losses {
namespace {

// log((p + q) / 2); where both are 0 their logarithms stand for it, which are multiplied by 0.
template <typename T>
T log_middle(const DistributionRow<T>& row, int64_t v) {
  const T middle = (row.p[v] + row.q[v]) / 2;
  return middle > 0 ? std::log(middle) : row.log_q[v];
}

template <typename T>
double add(const DistributionRow<T>& row, T weight, T* d_logits) {
  double of_p = 0, of_q = 0;
  for (int64_t v = 0; v < row.size; ++v) {
    const T middle = log_middle(row, v);
    of_p += static_cast<double>(row.p[v] * (row.log_p[v] - middle)) / 2;
    of_q += static_cast<double>(row.q[v] * (row.log_q[v] - middle)) / 2;
  }
  if (d_logits != nullptr) {
    for (int64_t v = 0; v < row.size; ++v) {
      const T slope = (row.log_q[v] - log_middle(row, v)) / 2;
      d_logits[v] += weight * row.q[v] * (slope - static_cast<T>(of_q));
    }
  }
  return static_cast<double>(weight) * (of_p + of_q);
}

PlainLosses plain(const at::Tensor& log_p, const at::Tensor& log_q, const at::Tensor&) {
  const at::Tensor p = log_p.exp(), q = log_q.exp();
  const at::Tensor log_m = at::logaddexp(log_p, log_q) - std::log(2.0);
  const at::Tensor slope = (log_q - log_m) / 2;
  const at::Tensor of_q = (q * slope).sum(1, /*keepdim=*/true);
  return {(p * (log_p - log_m)).sum(1) / 2 + of_q.squeeze(1), q * (slope - of_q)};
}

}  // namespace

const LossRule jsd_rule = {"jsd", add<float>, add<double>, plain};

}  // namespace draftlab::losses

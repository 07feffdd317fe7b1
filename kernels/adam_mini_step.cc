#include "kernels/adam_mini_step.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>

#include <numeric>

#include "kernels/lanes.h"
#include "kernels/placement.h"

namespace draftlab {
namespace {

template <typename T>
DRAFTLAB_INLINE void update(T* __restrict w, const T* __restrict g, T* __restrict m, T& v,
                            int64_t n, const AdamWConstants<T> k) {
  v = k.beta2 * v + k.rest2 * (dot(g, g, n) / static_cast<T>(n));
  const T rate = k.rate / (std::sqrt(v) * k.scale + k.epsilon);
  for (int64_t i = 0; i < n; ++i) {
    m[i] = k.beta1 * m[i] + k.rest1 * g[i];
    w[i] = k.decay * w[i] - rate * m[i];
  }
}

DRAFTLAB_CLONES void update_block(float* w, const float* g, float* m, float& v, int64_t n,
                                  const AdamWConstants<float>& k) {
  update(w, g, m, v, n, k);
}
DRAFTLAB_CLONES void update_block(double* w, const double* g, double* m, double& v, int64_t n,
                                  const AdamWConstants<double>& k) {
  update(w, g, m, v, n, k);
}

template <typename T>
void update_all(at::Tensor& w, const at::Tensor& g, at::Tensor& m, at::Tensor& v,
                const std::vector<int64_t>& sizes, const AdamWStep& step) {
  T *wp = w.mutable_data_ptr<T>(), *mp = m.mutable_data_ptr<T>(), *vp = v.mutable_data_ptr<T>();
  const T* gp = g.const_data_ptr<T>();
  const AdamWConstants<T> k(step);
  const auto blocks = static_cast<int64_t>(sizes.size());
  at::parallel_for(0, blocks, rows_per_task(w.numel() / std::max<int64_t>(1, blocks)),
                   [&](int64_t b, int64_t end) {
                     int64_t at = std::accumulate(sizes.begin(), sizes.begin() + b, int64_t{0});
                     for (; b < end; at += sizes[b++])
                       update_block(wp + at, gp + at, mp + at, vp[b], sizes[b], k);
                   });
}

}  // namespace

void adam_mini_step_plain(at::Tensor& w, const at::Tensor& g, at::Tensor& m, at::Tensor& v,
                          const std::vector<int64_t>& sizes, const AdamWStep& step) {
  const AdamWConstants<double> k(step);
  w.mul_(k.decay);
  m.mul_(k.beta1).add_(g, k.rest1);
  at::Tensor flat_w = w.view(-1), flat_v = v.view(-1);
  const at::Tensor flat_g = g.reshape(-1), flat_m = m.view(-1);
  int64_t at = 0;
  for (size_t b = 0; b < sizes.size(); at += sizes[b++]) {
    at::Tensor vb = flat_v.narrow(0, static_cast<int64_t>(b), 1);
    vb.mul_(k.beta2).add_(flat_g.narrow(0, at, sizes[b]).square().mean(), k.rest2);
    flat_w.narrow(0, at, sizes[b])
        .addcdiv_(flat_m.narrow(0, at, sizes[b]), vb.sqrt().mul_(k.scale).add_(k.epsilon), -k.rate);
  }
}

void adam_mini_step(at::Tensor& w, const at::Tensor& g, at::Tensor& m, at::Tensor& v,
                    const std::vector<int64_t>& sizes, const AdamWStep& step) {
  TORCH_CHECK(g.sizes() == w.sizes() && m.sizes() == w.sizes() &&
                  v.numel() == static_cast<int64_t>(sizes.size()) &&
                  std::accumulate(sizes.begin(), sizes.end(), int64_t{0}) == w.numel(),
              "adam_mini_step: weight, gradient and momentum must have one shape, which the blocks "
              "cover");
  if (plain_memory({w, g, m, v}) && w.scalar_type() == at::kFloat) {
    update_all<float>(w, g, m, v, sizes, step);
  } else if (plain_memory({w, g, m, v}) && w.scalar_type() == at::kDouble) {
    update_all<double>(w, g, m, v, sizes, step);
  } else {
    adam_mini_step_plain(w, g, m, v, sizes, step);
  }
}

}  // namespace draftlab

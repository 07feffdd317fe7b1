#include "kernels/adamw_step.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <c10/core/DeviceGuard.h>
#include <c10/core/impl/VirtualGuardImpl.h>

#include <cmath>

#include "kernels/lanes.h"
#include "kernels/placement.h"

namespace draftlab {
namespace {

// Elements that are worth a thread.
constexpr int64_t kGrain = 1 << 15;

template <typename T>
DRAFTLAB_INLINE void update(T* __restrict w, const T* __restrict g, T* __restrict m,
                            T* __restrict v, int64_t n, const AdamWConstants<T> k) {
  for (int64_t i = 0; i < n; ++i) {
    m[i] = k.beta1 * m[i] + k.rest1 * g[i];
    v[i] = k.beta2 * v[i] + k.rest2 * g[i] * g[i];
    w[i] = k.decay * w[i] - k.rate * (m[i] / (std::sqrt(v[i]) * k.scale + k.epsilon));
  }
}

DRAFTLAB_CLONES void update_range(float* w, const float* g, float* m, float* v, int64_t n,
                                  const AdamWConstants<float>& k) {
  update(w, g, m, v, n, k);
}
DRAFTLAB_CLONES void update_range(double* w, const double* g, double* m, double* v, int64_t n,
                                  const AdamWConstants<double>& k) {
  update(w, g, m, v, n, k);
}

template <typename T>
void update_all(at::Tensor& w, const at::Tensor& g, at::Tensor& m, at::Tensor& v,
                const AdamWStep& step) {
  T *wp = w.mutable_data_ptr<T>(), *mp = m.mutable_data_ptr<T>(), *vp = v.mutable_data_ptr<T>();
  const T* gp = g.const_data_ptr<T>();
  const AdamWConstants<T> constants(step);
  at::parallel_for(0, w.numel(), kGrain, [&](int64_t first, int64_t last) {
    update_range(wp + first, gp + first, mp + first, vp + first, last - first, constants);
  });
}

}  // namespace

void adamw_step_plain(at::Tensor& w, const at::Tensor& g, at::Tensor& m, at::Tensor& v,
                      const AdamWStep& step) {
  const AdamWConstants<double> k(step);
  w.mul_(k.decay);
  m.mul_(k.beta1).add_(g, k.rest1);
  v.mul_(k.beta2).addcmul_(g, g, k.rest2);
  w.addcdiv_(m, v.sqrt().mul_(k.scale).add_(k.epsilon), -k.rate);
}

void adamw_step(at::Tensor& w, const at::Tensor& g, at::Tensor& m, at::Tensor& v,
                const AdamWStep& step) {
  for (const at::Tensor* other :
       {&g, static_cast<const at::Tensor*>(&m), static_cast<const at::Tensor*>(&v)}) {
    TORCH_CHECK(other->sizes() == w.sizes() && other->scalar_type() == w.scalar_type() &&
                    other->device() == w.device(),
                "adamw_step: weight, gradient and moments must have one shape, dtype and device");
  }
  const bool contiguous =
      w.is_contiguous() && g.is_contiguous() && m.is_contiguous() && v.is_contiguous();
  if (plain_memory({w, g, m, v}) && w.scalar_type() == at::kFloat) {
    update_all<float>(w, g, m, v, step);
  } else if (plain_memory({w, g, m, v}) && w.scalar_type() == at::kDouble) {
    update_all<double>(w, g, m, v, step);
  } else if (w.is_cuda() && contiguous && w.scalar_type() == at::kFloat) {
    const c10::DeviceGuard guard(w.device());
    const c10::impl::VirtualGuardImpl cuda(w.device().type());
    adamw_step_cuda(w.mutable_data_ptr<float>(), g.const_data_ptr<float>(),
                    m.mutable_data_ptr<float>(), v.mutable_data_ptr<float>(), w.numel(), step,
                    cuda.getStreamNativeHandle(cuda.getStream(w.device())));
  } else {
    adamw_step_plain(w, g, m, v, step);
  }
}

}  // namespace draftlab

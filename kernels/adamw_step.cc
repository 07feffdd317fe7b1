#include "kernels/adamw_step.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <c10/core/DeviceGuard.h>
#include <c10/core/impl/VirtualGuardImpl.h>

#include <atomic>
#include <cmath>

#include "kernels/cautious.h"
#include "kernels/lanes.h"
#include "kernels/placement.h"

namespace draftlab {
namespace {

// Elements that are worth a thread.
constexpr int64_t kGrain = 1 << 15;

// One entry of the weight; `u` holds the rate.
template <bool kCautiousDecay, typename T>
DRAFTLAB_INLINE T moved(T w, T u, T decay) {
  if constexpr (kCautiousDecay) return (u * w >= 0 ? decay : T(1)) * w - u;
  return decay * w - u;
}

template <bool kCautiousDecay, typename T>
DRAFTLAB_INLINE void update(T* __restrict w, const T* __restrict g, T* __restrict m,
                            T* __restrict v, int64_t n, const AdamWConstants<T> k) {
  for (int64_t i = 0; i < n; ++i) {
    m[i] = k.beta1 * m[i] + k.rest1 * g[i];
    v[i] = k.beta2 * v[i] + k.rest2 * g[i] * g[i];
    const T u = k.rate * (m[i] / (std::sqrt(v[i]) * k.scale + k.epsilon));
    w[i] = moved<kCautiousDecay>(w[i], u, k.decay);
  }
}

// The cautious form needs the share of kept entries before it moves the first weight: this pass
// counts them, the next one moves.
template <typename T>
DRAFTLAB_INLINE int64_t average(const T* __restrict g, T* __restrict m, T* __restrict v, int64_t n,
                                const AdamWConstants<T> k) {
  int64_t kept = 0;
  for (int64_t i = 0; i < n; ++i) {
    m[i] = k.beta1 * m[i] + k.rest1 * g[i];
    v[i] = k.beta2 * v[i] + k.rest2 * g[i] * g[i];
    kept += same_sign(m[i], g[i]);
  }
  return kept;
}

template <bool kCautiousDecay, typename T>
DRAFTLAB_INLINE void move(T* __restrict w, const T* __restrict g, const T* __restrict m,
                          const T* __restrict v, int64_t n, const AdamWConstants<T> k, T gain) {
  for (int64_t i = 0; i < n; ++i) {
    const T factor = same_sign(m[i], g[i]) ? k.rate * gain : T(0);
    const T u = factor * (m[i] / (std::sqrt(v[i]) * k.scale + k.epsilon));
    w[i] = moved<kCautiousDecay>(w[i], u, k.decay);
  }
}

// clang-format off
#define DRAFTLAB_ADAMW(T)                                                                         \
  DRAFTLAB_CLONES void update_range(T* w, const T* g, T* m, T* v, int64_t n,                      \
                                    const AdamWConstants<T>& k, bool cautious_decay) {            \
    cautious_decay ? update<true>(w, g, m, v, n, k) : update<false>(w, g, m, v, n, k);            \
  }                                                                                               \
  DRAFTLAB_CLONES int64_t average_range(const T* g, T* m, T* v, int64_t n,                        \
                                        const AdamWConstants<T>& k) {                             \
    return average(g, m, v, n, k);                                                                \
  }                                                                                               \
  DRAFTLAB_CLONES void move_range(T* w, const T* g, const T* m, const T* v, int64_t n,            \
                                  const AdamWConstants<T>& k, T gain, bool cautious_decay) {      \
    cautious_decay ? move<true>(w, g, m, v, n, k, gain) : move<false>(w, g, m, v, n, k, gain);    \
  }
// clang-format on
DRAFTLAB_ADAMW(float)
DRAFTLAB_ADAMW(double)
#undef DRAFTLAB_ADAMW

template <typename T>
void update_all(at::Tensor& w, const at::Tensor& g, at::Tensor& m, at::Tensor& v,
                const AdamWStep& step) {
  T *wp = w.mutable_data_ptr<T>(), *mp = m.mutable_data_ptr<T>(), *vp = v.mutable_data_ptr<T>();
  const T* gp = g.const_data_ptr<T>();
  const AdamWConstants<T> k(step);
  const int64_t n = w.numel();
  if (!step.cautious) {
    at::parallel_for(0, n, kGrain, [&](int64_t i, int64_t end) {
      update_range(wp + i, gp + i, mp + i, vp + i, end - i, k, step.cautious_decay);
    });
    return;
  }
  std::atomic<int64_t> kept = 0;
  at::parallel_for(0, n, kGrain, [&](int64_t i, int64_t end) {
    kept += average_range(gp + i, mp + i, vp + i, end - i, k);
  });
  const T gain = static_cast<T>(cautious_gain(kept, n));
  at::parallel_for(0, n, kGrain, [&](int64_t i, int64_t end) {
    move_range(wp + i, gp + i, mp + i, vp + i, end - i, k, gain, step.cautious_decay);
  });
}

}  // namespace

void adamw_step_plain(at::Tensor& w, const at::Tensor& g, at::Tensor& m, at::Tensor& v,
                      const AdamWStep& step) {
  const AdamWConstants<double> k(step);
  m.mul_(k.beta1).add_(g, k.rest1);
  v.mul_(k.beta2).addcmul_(g, g, k.rest2);
  at::Tensor u = m / v.sqrt().mul_(k.scale).add_(k.epsilon);
  if (step.cautious) {
    const at::Tensor mask = m.sign() * g > 0;
    u.mul_(mask).mul_(cautious_gain(mask.sum().item<int64_t>(), mask.numel()));
  }
  if (step.cautious_decay) {
    w.sub_(w * (u * w >= 0), 1 - k.decay);
  } else {
    w.mul_(k.decay);
  }
  w.sub_(u, k.rate);
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
  } else if (w.is_cuda() && contiguous && w.scalar_type() == at::kFloat && !step.cautious &&
             !step.cautious_decay) {
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

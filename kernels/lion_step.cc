#include "kernels/lion_step.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>

#include <atomic>

#include "kernels/cautious.h"
#include "kernels/lanes.h"
#include "kernels/placement.h"

namespace draftlab {
namespace {

// Elements that are worth a thread.
constexpr int64_t kGrain = 1 << 15;

// The step in the type of the tensors; `gain` is what kept entries of C-Lion are multiplied by.
template <typename T>
struct Constants {
  Constants(const LionStep& step, double gain)
      : beta1(static_cast<T>(step.beta1)),
        rest1(static_cast<T>(1 - step.beta1)),
        beta2(static_cast<T>(step.beta2)),
        rest2(static_cast<T>(1 - step.beta2)),
        decay(static_cast<T>(1 - step.learning_rate * step.weight_decay)),
        rate(static_cast<T>(step.learning_rate * gain)),
        cautious(step.cautious),
        cautious_decay(step.cautious_decay) {}
  T beta1, rest1, beta2, rest2, decay, rate;
  bool cautious, cautious_decay;
};

// 1, -1, 0 or NaN.
template <typename T>
DRAFTLAB_INLINE T sign(T x) {
  return x > 0 ? T(1) : x < 0 ? T(-1) : x;
}

template <bool kCautious, bool kCautiousDecay, typename T>
DRAFTLAB_INLINE void update(T* __restrict w, const T* __restrict g, T* __restrict m, int64_t n,
                            const Constants<T> k) {
  for (int64_t i = 0; i < n; ++i) {
    T u = sign(k.beta1 * m[i] + k.rest1 * g[i]);
    if constexpr (kCautious) u *= same_sign(u, g[i]) ? T(1) : T(0);
    m[i] = k.beta2 * m[i] + k.rest2 * g[i];
    const T decay = kCautiousDecay && !(u * w[i] >= 0) ? T(1) : k.decay;
    w[i] = decay * w[i] - k.rate * u;
  }
}

template <typename T>
DRAFTLAB_INLINE int64_t kept_of(const T* __restrict g, const T* __restrict m, int64_t n,
                                const Constants<T> k) {
  int64_t kept = 0;
  for (int64_t i = 0; i < n; ++i) kept += same_sign(k.beta1 * m[i] + k.rest1 * g[i], g[i]);
  return kept;
}

template <typename T>
DRAFTLAB_INLINE void update_form(T* w, const T* g, T* m, int64_t n, const Constants<T>& k) {
  if (k.cautious) {
    k.cautious_decay ? update<true, true>(w, g, m, n, k) : update<true, false>(w, g, m, n, k);
  } else {
    k.cautious_decay ? update<false, true>(w, g, m, n, k) : update<false, false>(w, g, m, n, k);
  }
}

DRAFTLAB_CLONES void update_range(float* w, const float* g, float* m, int64_t n,
                                  const Constants<float>& k) {
  update_form(w, g, m, n, k);
}
DRAFTLAB_CLONES void update_range(double* w, const double* g, double* m, int64_t n,
                                  const Constants<double>& k) {
  update_form(w, g, m, n, k);
}
DRAFTLAB_CLONES int64_t kept_range(const float* g, const float* m, int64_t n,
                                   const Constants<float>& k) {
  return kept_of(g, m, n, k);
}
DRAFTLAB_CLONES int64_t kept_range(const double* g, const double* m, int64_t n,
                                   const Constants<double>& k) {
  return kept_of(g, m, n, k);
}

double lion_gain(int64_t kept, int64_t all) {
  return static_cast<double>(all) / static_cast<double>(kept + 1);
}

template <typename T>
void update_all(at::Tensor& w, const at::Tensor& g, at::Tensor& m, const LionStep& step) {
  T *wp = w.mutable_data_ptr<T>(), *mp = m.mutable_data_ptr<T>();
  const T* gp = g.const_data_ptr<T>();
  const int64_t n = w.numel();
  std::atomic<int64_t> kept = 0;
  if (step.cautious) {
    const Constants<T> k(step, 1);
    at::parallel_for(0, n, kGrain, [&](int64_t i, int64_t end) {
      kept += kept_range(gp + i, mp + i, end - i, k);
    });
  }
  const Constants<T> k(step, step.cautious ? lion_gain(kept, n) : 1);
  at::parallel_for(0, n, kGrain, [&](int64_t i, int64_t end) {
    update_range(wp + i, gp + i, mp + i, end - i, k);
  });
}

}  // namespace

void lion_step_plain(at::Tensor& w, const at::Tensor& g, at::Tensor& m, const LionStep& step) {
  const at::Tensor mixed = m * step.beta1 + g * (1 - step.beta1);
  at::Tensor u = at::where(mixed.isnan(), mixed, mixed.sign());
  double gain = 1;
  if (step.cautious) {
    const at::Tensor mask = u * g.sign() > 0;
    u = u * mask;
    gain = lion_gain(mask.sum().item<int64_t>(), mask.numel());
  }
  m.mul_(step.beta2).add_(g, 1 - step.beta2);
  const double shrink = step.learning_rate * step.weight_decay;
  if (step.cautious_decay) {
    w.sub_(w * (u * w >= 0), shrink);
  } else {
    w.mul_(1 - shrink);
  }
  w.sub_(u, step.learning_rate * gain);
}

void lion_step(at::Tensor& w, const at::Tensor& g, at::Tensor& m, const LionStep& step) {
  for (const at::Tensor* other : {&g, static_cast<const at::Tensor*>(&m)}) {
    TORCH_CHECK(other->sizes() == w.sizes() && other->scalar_type() == w.scalar_type() &&
                    other->device() == w.device(),
                "lion_step: weight, gradient and momentum must have one shape, dtype and device");
  }
  if (plain_memory({w, g, m}) && w.scalar_type() == at::kFloat) {
    update_all<float>(w, g, m, step);
  } else if (plain_memory({w, g, m}) && w.scalar_type() == at::kDouble) {
    update_all<double>(w, g, m, step);
  } else {
    lion_step_plain(w, g, m, step);
  }
}

}  // namespace draftlab

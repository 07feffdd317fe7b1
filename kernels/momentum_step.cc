#include "kernels/momentum_step.h"

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

template <typename T>
struct Mix {
  explicit Mix(const MomentumStep& step)
      : mu(static_cast<T>(step.momentum)),
        k(step.accumulate ? T(1) : static_cast<T>(1 - step.momentum)),
        nesterov(step.nesterov),
        cautious(step.cautious) {}
  T mu, k;
  bool nesterov, cautious;
};

// Returns the entries kept.
template <bool kNesterov, bool kCautious, typename T>
DRAFTLAB_INLINE int64_t mix(T* __restrict m, const T* __restrict g, T* __restrict u, int64_t n,
                            const Mix<T> with) {
  int64_t kept = 0;
  for (int64_t i = 0; i < n; ++i) {
    m[i] = with.mu * m[i] + with.k * g[i];
    T ahead = kNesterov ? with.k * g[i] + with.mu * m[i] : m[i];
    if constexpr (kCautious) {
      const bool keep = same_sign(ahead, g[i]);
      kept += keep;
      ahead *= keep ? T(1) : T(0);
    }
    u[i] = ahead;
  }
  return kept;
}

template <typename T>
DRAFTLAB_INLINE int64_t mix_form(T* m, const T* g, T* u, int64_t n, const Mix<T>& with) {
  if (with.nesterov) {
    return with.cautious ? mix<true, true>(m, g, u, n, with) : mix<true, false>(m, g, u, n, with);
  }
  return with.cautious ? mix<false, true>(m, g, u, n, with) : mix<false, false>(m, g, u, n, with);
}

DRAFTLAB_CLONES int64_t mix_range(float* m, const float* g, float* u, int64_t n,
                                  const Mix<float>& with) {
  return mix_form(m, g, u, n, with);
}
DRAFTLAB_CLONES int64_t mix_range(double* m, const double* g, double* u, int64_t n,
                                  const Mix<double>& with) {
  return mix_form(m, g, u, n, with);
}

template <typename T>
void mix_all(at::Tensor& m, const at::Tensor& g, at::Tensor& u, const MomentumStep& step) {
  T *mp = m.mutable_data_ptr<T>(), *up = u.mutable_data_ptr<T>();
  const T* gp = g.const_data_ptr<T>();
  const Mix<T> with(step);
  std::atomic<int64_t> kept = 0;
  at::parallel_for(0, m.numel(), kGrain, [&](int64_t i, int64_t end) {
    kept += mix_range(mp + i, gp + i, up + i, end - i, with);
  });
  if (step.cautious) u.mul_(cautious_gain(kept, m.numel()));
}

template <typename T>
struct Move {
  explicit Move(const WeightStep& step)
      : rate(static_cast<T>(step.rate)),
        decay(static_cast<T>(1 - step.shrink)),
        cautious(step.cautious) {}
  T rate, decay;
  bool cautious;
};

template <bool kCautious, typename T>
DRAFTLAB_INLINE void move_entry(T& w, T o, const Move<T>& by) {
  const T decay = kCautious && !(o * w >= 0) ? T(1) : by.decay;
  w = decay * w - by.rate * o;
}

template <bool kCautious, typename T>
DRAFTLAB_INLINE void move(T* __restrict w, const T* __restrict o, int64_t n, const Move<T> by) {
  for (int64_t i = 0; i < n; ++i) move_entry<kCautious>(w[i], o[i], by);
}

// `rows` rows of w [.., cols]; o holds them as columns, `stride` apart.
template <bool kCautious, typename T>
DRAFTLAB_INLINE void move_transposed(T* __restrict w, const T* __restrict o, int64_t rows,
                                     int64_t cols, int64_t stride, const Move<T> by) {
  for (int64_t j = 0; j < cols; ++j) {
    for (int64_t i = 0; i < rows; ++i)
      move_entry<kCautious>(w[i * cols + j], o[j * stride + i], by);
  }
}

// clang-format off
#define DRAFTLAB_MOVE(T)                                                                          \
  DRAFTLAB_CLONES void move_range(T* w, const T* o, int64_t n, const Move<T>& by) {               \
    by.cautious ? move<true>(w, o, n, by) : move<false>(w, o, n, by);                             \
  }                                                                                               \
  DRAFTLAB_CLONES void move_columns(T* w, const T* o, int64_t rows, int64_t cols, int64_t stride, \
                                    const Move<T>& by) {                                          \
    by.cautious ? move_transposed<true>(w, o, rows, cols, stride, by)                             \
                : move_transposed<false>(w, o, rows, cols, stride, by);                           \
  }
// clang-format on
DRAFTLAB_MOVE(float)
DRAFTLAB_MOVE(double)
#undef DRAFTLAB_MOVE

template <typename T>
void move_all(at::Tensor& w, const at::Tensor& o, const WeightStep& step) {
  T* wp = w.mutable_data_ptr<T>();
  const T* op = o.const_data_ptr<T>();
  const Move<T> by(step);
  if (o.is_contiguous()) {
    at::parallel_for(0, w.numel(), kGrain,
                     [&](int64_t i, int64_t end) { move_range(wp + i, op + i, end - i, by); });
    return;
  }
  // Few enough rows at a time that their cache lines stay near while columns of o pass by.
  constexpr int64_t kRows = 16;
  const int64_t rows = w.size(0), cols = w.size(1), strips = (rows + kRows - 1) / kRows;
  at::parallel_for(0, strips, std::max<int64_t>(1, kGrain / (kRows * std::max<int64_t>(cols, 1))),
                   [&](int64_t strip, int64_t end) {
                     for (; strip < end; ++strip) {
                       const int64_t i = strip * kRows;
                       move_columns(wp + i * cols, op + i, std::min(kRows, rows - i), cols,
                                    o.stride(1), by);
                     }
                   });
}

bool transposed(const at::Tensor& o) {
  return o.dim() == 2 && o.device().is_cpu() && o.stride(0) == 1 && o.stride(1) >= o.size(0);
}

void check(bool fits, const char* what) {
  TORCH_CHECK(fits, what, ": the tensors must have one shape, dtype and device");
}

bool alike(const at::Tensor& a, const at::Tensor& b) {
  return a.sizes() == b.sizes() && a.scalar_type() == b.scalar_type() && a.device() == b.device();
}

}  // namespace

void momentum_step_plain(at::Tensor& m, const at::Tensor& g, at::Tensor& u,
                         const MomentumStep& step) {
  const double k = step.accumulate ? 1 : 1 - step.momentum;
  m.mul_(step.momentum).add_(g, k);
  u.copy_(step.nesterov ? g * k + m * step.momentum : m);
  if (!step.cautious) return;
  const at::Tensor mask = u.sign() * g.sign() > 0;
  u.mul_(mask).mul_(cautious_gain(mask.sum().item<int64_t>(), mask.numel()));
}

void momentum_step(at::Tensor& m, const at::Tensor& g, at::Tensor& u, const MomentumStep& step) {
  check(alike(m, g) && alike(m, u), "momentum_step");
  if (plain_memory({m, g, u}) && m.scalar_type() == at::kFloat) {
    mix_all<float>(m, g, u, step);
  } else if (plain_memory({m, g, u}) && m.scalar_type() == at::kDouble) {
    mix_all<double>(m, g, u, step);
  } else {
    momentum_step_plain(m, g, u, step);
  }
}

void weight_step_plain(at::Tensor& w, const at::Tensor& o, const WeightStep& step) {
  if (step.cautious) {
    w.sub_(w * (o * w >= 0), step.shrink);
  } else {
    w.mul_(1 - step.shrink);
  }
  w.sub_(o, step.rate);
}

void weight_step(at::Tensor& w, const at::Tensor& o, const WeightStep& step) {
  check(alike(w, o), "weight_step");
  const bool ours = plain_memory({w}) && (plain_memory({o}) || transposed(o));
  if (ours && w.scalar_type() == at::kFloat) {
    move_all<float>(w, o, step);
  } else if (ours && w.scalar_type() == at::kDouble) {
    move_all<double>(w, o, step);
  } else {
    weight_step_plain(w, o, step);
  }
}

}  // namespace draftlab

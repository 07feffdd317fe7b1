#include "kernels/delta_gates.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "kernels/lanes.h"
#include "kernels/placement.h"

namespace draftlab {
namespace {

// log(1 + e^x) = max(x, 0) + log(1 + u) with u = e^-|x| in [0, 1]. log(1 + u) = 2 atanh(w) with
// w = u / (2 + u) <= 1/3: its series up to w^15 has a relative error below 2e-9.
DRAFTLAB_INLINE float softplus(float x) {
  const float u = exponential(x < 0 ? x : -x), w = u / (2 + u), square = w * w;
  float sum = 1.f / 15;
  sum = sum * square + 1.f / 13;
  sum = sum * square + 1.f / 11;
  sum = sum * square + 1.f / 9;
  sum = sum * square + 1.f / 7;
  sum = sum * square + 1.f / 5;
  sum = sum * square + 1.f / 3;
  sum = sum * square + 1;
  return (x < 0 ? 0 : x) + 2 * w * sum;
}
DRAFTLAB_INLINE double softplus(double x) {
  return (x < 0 ? 0 : x) + std::log1p(std::exp(x < 0 ? x : -x));
}

// `rate` (-e^A_log) and `bias` of each head, once for every one of n numbers of consecutive rows.
template <typename T>
DRAFTLAB_INLINE void forward_of(const T* a, const T* b, const T* rate, const T* bias, int64_t n,
                                T* g, T* beta) {
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) {
    g[i] = rate[i] * softplus(a[i] + bias[i]);
    beta[i] = sigmoid(b[i]);
  }
}

// `to_rate` and `to_bias` are added to.
template <typename T>
DRAFTLAB_INLINE void backward_of(const T* dg, const T* dbeta, const T* a, const T* g, const T* beta,
                                 const T* rate, const T* bias, int64_t n, T* da, T* db, T* to_rate,
                                 T* to_bias) {
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) {
    const T d = dg[i], slope = d * rate[i] * sigmoid(a[i] + bias[i]);
    to_rate[i] += d * g[i];
    to_bias[i] += slope;
    da[i] = slope;
    db[i] = dbeta[i] * beta[i] * (1 - beta[i]);
  }
}

DRAFTLAB_CLONES void forward(const float* a, const float* b, const float* rate, const float* bias,
                             int64_t n, float* g, float* beta) {
  forward_of(a, b, rate, bias, n, g, beta);
}
DRAFTLAB_CLONES void forward(const double* a, const double* b, const double* rate,
                             const double* bias, int64_t n, double* g, double* beta) {
  forward_of(a, b, rate, bias, n, g, beta);
}
DRAFTLAB_CLONES void backward(const float* dg, const float* dbeta, const float* a, const float* g,
                              const float* beta, const float* rate, const float* bias, int64_t n,
                              float* da, float* db, float* to_rate, float* to_bias) {
  backward_of(dg, dbeta, a, g, beta, rate, bias, n, da, db, to_rate, to_bias);
}
DRAFTLAB_CLONES void backward(const double* dg, const double* dbeta, const double* a,
                              const double* g, const double* beta, const double* rate,
                              const double* bias, int64_t n, double* da, double* db,
                              double* to_rate, double* to_bias) {
  backward_of(dg, dbeta, a, g, beta, rate, bias, n, da, db, to_rate, to_bias);
}

// Rows that one call works on: heads are too few to fill a register.
constexpr int64_t kRows = kLanes;
// Sums over rows are made in this many parts, so that bits do not depend on the number of threads.
constexpr int64_t kParts = 16;

// The heads' constants, repeated for kRows rows.
template <typename T>
struct Constants {
  std::vector<T> rate, bias;  // [kRows, nv]

  Constants(const at::Tensor& A_log, const at::Tensor& dt_bias)
      : rate(kRows * A_log.numel()), bias(rate.size()) {
    const int64_t heads = A_log.numel();
    for (int64_t i = 0; i < static_cast<int64_t>(rate.size()); ++i) {
      rate[i] = -std::exp(A_log.const_data_ptr<T>()[i % heads]);
      bias[i] = dt_bias.const_data_ptr<T>()[i % heads];
    }
  }
};

void check_shapes(const at::Tensor& a, const at::Tensor& b, const at::Tensor& A_log,
                  const at::Tensor& dt_bias, const at::Tensor& g, const at::Tensor& beta) {
  TORCH_CHECK(b.sizes() == a.sizes() && g.sizes() == a.sizes() && beta.sizes() == a.sizes() &&
                  A_log.numel() == a.size(1) && dt_bias.numel() == a.size(1),
              "delta_gates: shapes do not fit");
}

}  // namespace

void plain_delta_gates(const at::Tensor& a, const at::Tensor& b, const at::Tensor& A_log,
                       const at::Tensor& dt_bias, const at::Tensor& g, const at::Tensor& beta) {
  const at::Tensor x = a + dt_bias;
  g.copy_(-A_log.exp() * (x.clamp_min(0) + x.abs().neg().exp().log1p()));
  beta.copy_(b.sigmoid());
}

void plain_delta_gates_backward(const at::Tensor& dg, const at::Tensor& dbeta, const at::Tensor& a,
                                const at::Tensor& A_log, const at::Tensor& dt_bias,
                                const at::Tensor& g, const at::Tensor& beta, const at::Tensor& da,
                                const at::Tensor& db, const at::Tensor& d_A_log,
                                const at::Tensor& d_dt_bias) {
  d_A_log.copy_((dg * g).sum(0));
  da.copy_(dg * -A_log.exp() * (a + dt_bias).sigmoid());
  d_dt_bias.copy_(da.sum(0));
  db.copy_(dbeta * beta * (1 - beta));
}

void delta_gates(const at::Tensor& a, const at::Tensor& b, const at::Tensor& A_log,
                 const at::Tensor& dt_bias, const at::Tensor& g, const at::Tensor& beta) {
  if (!plain_memory({a, b, A_log, dt_bias, g, beta})) {
    return plain_delta_gates(a, b, A_log, dt_bias, g, beta);
  }
  check_shapes(a, b, A_log, dt_bias, g, beta);
  AT_DISPATCH_FLOATING_TYPES(a.scalar_type(), "delta_gates", [&] {
    const Constants<scalar_t> heads(A_log, dt_bias);
    const int64_t piece = kRows * a.size(1);
    const int64_t pieces = (a.size(0) + kRows - 1) / kRows;
    at::parallel_for(0, pieces, rows_per_task(piece), [&](int64_t first, int64_t last) {
      for (int64_t p = first; p < last; ++p) {
        const int64_t i = p * piece;
        forward(a.const_data_ptr<scalar_t>() + i, b.const_data_ptr<scalar_t>() + i,
                heads.rate.data(), heads.bias.data(), std::min(piece, a.numel() - i),
                g.data_ptr<scalar_t>() + i, beta.data_ptr<scalar_t>() + i);
      }
    });
  });
}

void delta_gates_backward(const at::Tensor& dg, const at::Tensor& dbeta, const at::Tensor& a,
                          const at::Tensor& A_log, const at::Tensor& dt_bias, const at::Tensor& g,
                          const at::Tensor& beta, const at::Tensor& da, const at::Tensor& db,
                          const at::Tensor& d_A_log, const at::Tensor& d_dt_bias) {
  if (!plain_memory({dg, dbeta, a, A_log, dt_bias, g, beta, da, db, d_A_log, d_dt_bias})) {
    return plain_delta_gates_backward(dg, dbeta, a, A_log, dt_bias, g, beta, da, db, d_A_log,
                                      d_dt_bias);
  }
  check_shapes(a, dg, A_log, dt_bias, g, beta);
  check_shapes(a, dbeta, d_A_log, d_dt_bias, da, db);
  AT_DISPATCH_FLOATING_TYPES(a.scalar_type(), "delta_gates_backward", [&] {
    const Constants<scalar_t> heads(A_log, dt_bias);
    const int64_t nv = a.size(1), piece = kRows * nv;
    const int64_t pieces = (a.size(0) + kRows - 1) / kRows;
    const int64_t pieces_per_part = (pieces + kParts - 1) / kParts;
    std::vector<scalar_t> partial(kParts * 2 * piece, 0);  // [parts, rate and bias, kRows, nv]
    at::parallel_for(0, kParts, 1, [&](int64_t first, int64_t last) {
      for (int64_t part = first; part < last; ++part) {
        scalar_t* sums = partial.data() + part * 2 * piece;
        const int64_t end = std::min((part + 1) * pieces_per_part, pieces);
        for (int64_t p = part * pieces_per_part; p < end; ++p) {
          const int64_t i = p * piece;
          backward(dg.const_data_ptr<scalar_t>() + i, dbeta.const_data_ptr<scalar_t>() + i,
                   a.const_data_ptr<scalar_t>() + i, g.const_data_ptr<scalar_t>() + i,
                   beta.const_data_ptr<scalar_t>() + i, heads.rate.data(), heads.bias.data(),
                   std::min(piece, a.numel() - i), da.data_ptr<scalar_t>() + i,
                   db.data_ptr<scalar_t>() + i, sums, sums + piece);
        }
      }
    });
    for (int64_t h = 0; h < nv; ++h) {
      scalar_t to_rate = 0, to_bias = 0;
      for (int64_t part = 0; part < kParts; ++part) {
        const scalar_t* sums = partial.data() + part * 2 * piece;
        for (int64_t r = 0; r < kRows; ++r) {
          to_rate += sums[r * nv + h];
          to_bias += sums[piece + r * nv + h];
        }
      }
      d_A_log.data_ptr<scalar_t>()[h] = to_rate;
      d_dt_bias.data_ptr<scalar_t>()[h] = to_bias;
    }
  });
}

}  // namespace draftlab

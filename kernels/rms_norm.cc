#include "kernels/rms_norm.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "kernels/lanes.h"
#include "kernels/placement.h"

namespace draftlab {
namespace {

template <typename T>
DRAFTLAB_INLINE void forward_rows_of(const T* x, const T* weight, T eps, int64_t rows, int64_t n,
                                     T* y, T* inverse_rms) {
  for (int64_t r = 0; r < rows; ++r, x += n, y += n) {
    const T scale = 1 / std::sqrt(dot(x, x, n) / static_cast<T>(n) + eps);
    inverse_rms[r] = scale;
    for (int64_t i = 0; i < n; ++i) y[i] = weight[i] * (x[i] * scale);
  }
}

// `weighted` is one row of scratch. d_weight is added to.
template <typename T>
DRAFTLAB_INLINE void backward_rows_of(const T* dy, const T* x, const T* weight,
                                      const T* inverse_rms, int64_t rows, int64_t n,
                                      bool accumulate, T* dx, T* d_weight, T* weighted) {
  for (int64_t r = 0; r < rows; ++r, dy += n, x += n, dx += n) {
    const T scale = inverse_rms[r];
    for (int64_t i = 0; i < n; ++i) {
      d_weight[i] += dy[i] * (x[i] * scale);
      weighted[i] = dy[i] * weight[i];
    }
    const T along = scale * scale * (dot<T>(weighted, x, n) / static_cast<T>(n));
    if (accumulate) {
      for (int64_t i = 0; i < n; ++i) dx[i] += scale * (weighted[i] - x[i] * along);
    } else {
      for (int64_t i = 0; i < n; ++i) dx[i] = scale * (weighted[i] - x[i] * along);
    }
  }
}

DRAFTLAB_CLONES void forward_rows(const float* x, const float* weight, float eps, int64_t rows,
                                  int64_t n, float* y, float* inverse_rms) {
  forward_rows_of(x, weight, eps, rows, n, y, inverse_rms);
}
DRAFTLAB_CLONES void forward_rows(const double* x, const double* weight, double eps, int64_t rows,
                                  int64_t n, double* y, double* inverse_rms) {
  forward_rows_of(x, weight, eps, rows, n, y, inverse_rms);
}
DRAFTLAB_CLONES void backward_rows(const float* dy, const float* x, const float* weight,
                                   const float* inverse_rms, int64_t rows, int64_t n,
                                   bool accumulate, float* dx, float* d_weight, float* weighted) {
  backward_rows_of(dy, x, weight, inverse_rms, rows, n, accumulate, dx, d_weight, weighted);
}
DRAFTLAB_CLONES void backward_rows(const double* dy, const double* x, const double* weight,
                                   const double* inverse_rms, int64_t rows, int64_t n,
                                   bool accumulate, double* dx, double* d_weight,
                                   double* weighted) {
  backward_rows_of(dy, x, weight, inverse_rms, rows, n, accumulate, dx, d_weight, weighted);
}

// d_weight is summed in this many parts, so that its bits do not depend on the number of threads.
constexpr int64_t kParts = 16;

}  // namespace

void plain_rms_norm(const at::Tensor& x, const at::Tensor& weight, double eps, const at::Tensor& y,
                    const at::Tensor& inverse_rms) {
  inverse_rms.copy_(x.square().mean(1).add(eps).rsqrt());
  y.copy_(weight * (x * inverse_rms.unsqueeze(1)));
}

void plain_rms_norm_backward(const at::Tensor& dy, const at::Tensor& x, const at::Tensor& weight,
                             const at::Tensor& inverse_rms, const at::Tensor& dx, bool accumulate,
                             const at::Tensor& d_weight) {
  const at::Tensor scale = inverse_rms.unsqueeze(1);
  const at::Tensor weighted = dy * weight;
  d_weight.copy_((dy * (x * scale)).sum(0));
  const at::Tensor along = scale.square() * (weighted * x).mean(1, /*keepdim=*/true);
  const at::Tensor gradient = scale * (weighted - x * along);
  if (accumulate) {
    dx.add_(gradient);
  } else {
    dx.copy_(gradient);
  }
}

void rms_norm(const at::Tensor& x, const at::Tensor& weight, double eps, const at::Tensor& y,
              const at::Tensor& inverse_rms) {
  if (!plain_memory({x, weight, y, inverse_rms})) {
    return plain_rms_norm(x, weight, eps, y, inverse_rms);
  }
  const int64_t n = x.size(1);
  TORCH_CHECK(weight.numel() == n && y.sizes() == x.sizes() && inverse_rms.numel() == x.size(0),
              "rms_norm: shapes do not fit");
  AT_DISPATCH_FLOATING_TYPES(x.scalar_type(), "rms_norm", [&] {
    const scalar_t* in = x.const_data_ptr<scalar_t>();
    const scalar_t* w = weight.const_data_ptr<scalar_t>();
    scalar_t* out = y.data_ptr<scalar_t>();
    scalar_t* scales = inverse_rms.data_ptr<scalar_t>();
    at::parallel_for(0, x.size(0), rows_per_task(n), [&](int64_t begin, int64_t end) {
      forward_rows(in + begin * n, w, static_cast<scalar_t>(eps), end - begin, n, out + begin * n,
                   scales + begin);
    });
  });
}

void rms_norm_backward(const at::Tensor& dy, const at::Tensor& x, const at::Tensor& weight,
                       const at::Tensor& inverse_rms, const at::Tensor& dx, bool accumulate,
                       const at::Tensor& d_weight) {
  if (!plain_memory({dy, x, weight, inverse_rms, dx, d_weight})) {
    return plain_rms_norm_backward(dy, x, weight, inverse_rms, dx, accumulate, d_weight);
  }
  const int64_t rows = x.size(0), n = x.size(1);
  TORCH_CHECK(dy.sizes() == x.sizes() && dx.sizes() == x.sizes() && weight.numel() == n &&
                  d_weight.numel() == n && inverse_rms.numel() == rows,
              "rms_norm_backward: shapes do not fit");
  AT_DISPATCH_FLOATING_TYPES(x.scalar_type(), "rms_norm_backward", [&] {
    const int64_t rows_per_part = (rows + kParts - 1) / kParts;
    std::vector<scalar_t> partial(kParts * n, 0);
    at::parallel_for(0, kParts, 1, [&](int64_t first, int64_t last) {
      std::vector<scalar_t> weighted(n);
      for (int64_t part = first; part < last; ++part) {
        const int64_t begin = std::min(part * rows_per_part, rows);
        const int64_t end = std::min(begin + rows_per_part, rows);
        backward_rows(dy.const_data_ptr<scalar_t>() + begin * n,
                      x.const_data_ptr<scalar_t>() + begin * n, weight.const_data_ptr<scalar_t>(),
                      inverse_rms.const_data_ptr<scalar_t>() + begin, end - begin, n, accumulate,
                      dx.data_ptr<scalar_t>() + begin * n, partial.data() + part * n,
                      weighted.data());
      }
    });
    scalar_t* sum = d_weight.data_ptr<scalar_t>();
    std::copy_n(partial.begin(), n, sum);
    for (int64_t part = 1; part < kParts; ++part)
      for (int64_t i = 0; i < n; ++i) sum[i] += partial[part * n + i];
  });
}

}  // namespace draftlab

#include "kernels/gated_rms_norm.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "kernels/lanes.h"
#include "kernels/placement.h"

namespace draftlab {
namespace {

// One row of `heads` heads of n columns.
template <typename T>
DRAFTLAB_INLINE void forward_row_of(const T* x, const T* z, const T* weight, T eps, int64_t heads,
                                    int64_t n, T* y, T* inverse_rms) {
  for (int64_t h = 0; h < heads; ++h, x += n, z += n, y += n) {
    const T scale = 1 / std::sqrt(dot(x, x, n) / static_cast<T>(n) + eps);
    inverse_rms[h] = scale;
    for (int64_t i = 0; i < n; ++i) y[i] = weight[i] * (x[i] * scale) * (z[i] * sigmoid(z[i]));
  }
}

// d_weight is added to; `weighted` is scratch for one head.
template <typename T>
DRAFTLAB_INLINE void backward_row_of(const T* dy, const T* x, const T* z, const T* weight,
                                     const T* inverse_rms, int64_t heads, int64_t n, T* dx, T* dz,
                                     T* d_weight, T* weighted) {
  for (int64_t h = 0; h < heads; ++h, dy += n, x += n, z += n, dx += n, dz += n) {
    const T scale = inverse_rms[h];
#pragma GCC ivdep
    for (int64_t i = 0; i < n; ++i) {
      const T s = sigmoid(z[i]), gated = dy[i] * (z[i] * s), normed = x[i] * scale;
      dz[i] = dy[i] * (weight[i] * normed) * (s * (1 + z[i] * (1 - s)));
      d_weight[i] += gated * normed;
      weighted[i] = gated * weight[i];
    }
    const T along = scale * scale * (dot<T>(weighted, x, n) / static_cast<T>(n));
    for (int64_t i = 0; i < n; ++i) dx[i] = scale * (weighted[i] - x[i] * along);
  }
}

DRAFTLAB_CLONES void forward_row(const float* x, const float* z, const float* weight, float eps,
                                 int64_t heads, int64_t n, float* y, float* inverse_rms) {
  forward_row_of(x, z, weight, eps, heads, n, y, inverse_rms);
}
DRAFTLAB_CLONES void forward_row(const double* x, const double* z, const double* weight, double eps,
                                 int64_t heads, int64_t n, double* y, double* inverse_rms) {
  forward_row_of(x, z, weight, eps, heads, n, y, inverse_rms);
}
DRAFTLAB_CLONES void backward_row(const float* dy, const float* x, const float* z,
                                  const float* weight, const float* inverse_rms, int64_t heads,
                                  int64_t n, float* dx, float* dz, float* d_weight,
                                  float* weighted) {
  backward_row_of(dy, x, z, weight, inverse_rms, heads, n, dx, dz, d_weight, weighted);
}
DRAFTLAB_CLONES void backward_row(const double* dy, const double* x, const double* z,
                                  const double* weight, const double* inverse_rms, int64_t heads,
                                  int64_t n, double* dx, double* dz, double* d_weight,
                                  double* weighted) {
  backward_row_of(dy, x, z, weight, inverse_rms, heads, n, dx, dz, d_weight, weighted);
}

// d_weight is summed in this many parts, so that its bits do not depend on the number of threads.
constexpr int64_t kParts = 16;

void check_shapes(const at::Tensor& x, const at::Tensor& z, const at::Tensor& weight,
                  const at::Tensor& y, const at::Tensor& inverse_rms) {
  TORCH_CHECK(x.sizes() == z.sizes() && x.sizes() == y.sizes() &&
                  inverse_rms.size(0) == x.size(0) &&
                  x.size(1) == inverse_rms.size(1) * weight.numel(),
              "gated_rms_norm: shapes do not fit");
}

at::Tensor by_head(const at::Tensor& x, const at::Tensor& weight) {
  return x.unflatten(1, {-1, weight.numel()});
}

}  // namespace

void plain_gated_rms_norm(const at::Tensor& x, const at::Tensor& z, const at::Tensor& weight,
                          double eps, const at::Tensor& y, const at::Tensor& inverse_rms) {
  const at::Tensor rows = by_head(x, weight), gate = by_head(z, weight);
  inverse_rms.copy_(rows.square().mean(2).add(eps).rsqrt());
  by_head(y, weight).copy_(weight * (rows * inverse_rms.unsqueeze(2)) * (gate * gate.sigmoid()));
}

void plain_gated_rms_norm_backward(const at::Tensor& dy, const at::Tensor& x, const at::Tensor& z,
                                   const at::Tensor& weight, const at::Tensor& inverse_rms,
                                   const at::Tensor& dx, const at::Tensor& dz,
                                   const at::Tensor& d_weight) {
  const at::Tensor d = by_head(dy, weight), rows = by_head(x, weight), gate = by_head(z, weight);
  const at::Tensor scale = inverse_rms.unsqueeze(2), s = gate.sigmoid();
  const at::Tensor gated = d * gate * s, weighted = gated * weight;
  const at::Tensor to_z = d * weight * (rows * scale) * s * (1 + gate * (1 - s));
  const at::Tensor along = scale.square() * (weighted * rows).mean(2, /*keepdim=*/true);
  const at::Tensor to_x = scale * (weighted - rows * along);
  d_weight.copy_((gated * (rows * scale)).sum(at::IntArrayRef{0, 1}));
  by_head(dz, weight).copy_(to_z);
  by_head(dx, weight).copy_(to_x);
}

void gated_rms_norm(const at::Tensor& x, const at::Tensor& z, const at::Tensor& weight, double eps,
                    const at::Tensor& y, const at::Tensor& inverse_rms) {
  if (!plain_rows({x, z, y}) || !plain_memory({weight, inverse_rms})) {
    return plain_gated_rms_norm(x, z, weight, eps, y, inverse_rms);
  }
  check_shapes(x, z, weight, y, inverse_rms);
  const int64_t n = weight.numel(), heads = inverse_rms.size(1);
  AT_DISPATCH_FLOATING_TYPES(x.scalar_type(), "gated_rms_norm", [&] {
    const scalar_t* in = x.const_data_ptr<scalar_t>();
    const scalar_t* gate = z.const_data_ptr<scalar_t>();
    const scalar_t* w = weight.const_data_ptr<scalar_t>();
    scalar_t* out = y.data_ptr<scalar_t>();
    scalar_t* scales = inverse_rms.data_ptr<scalar_t>();
    at::parallel_for(0, x.size(0), rows_per_task(x.size(1)), [&](int64_t begin, int64_t end) {
      for (int64_t r = begin; r < end; ++r)
        forward_row(in + r * x.stride(0), gate + r * z.stride(0), w, static_cast<scalar_t>(eps),
                    heads, n, out + r * y.stride(0), scales + r * heads);
    });
  });
}

void gated_rms_norm_backward(const at::Tensor& dy, const at::Tensor& x, const at::Tensor& z,
                             const at::Tensor& weight, const at::Tensor& inverse_rms,
                             const at::Tensor& dx, const at::Tensor& dz,
                             const at::Tensor& d_weight) {
  if (!plain_rows({dy, x, z, dx, dz}) || !plain_memory({weight, inverse_rms, d_weight})) {
    return plain_gated_rms_norm_backward(dy, x, z, weight, inverse_rms, dx, dz, d_weight);
  }
  check_shapes(x, z, weight, dy, inverse_rms);
  check_shapes(dx, dz, d_weight, dy, inverse_rms);
  const int64_t rows = x.size(0), n = weight.numel(), heads = inverse_rms.size(1);
  AT_DISPATCH_FLOATING_TYPES(x.scalar_type(), "gated_rms_norm_backward", [&] {
    const int64_t rows_per_part = (rows + kParts - 1) / kParts;
    std::vector<scalar_t> partial(kParts * n, 0);
    at::parallel_for(0, kParts, 1, [&](int64_t first, int64_t last) {
      std::vector<scalar_t> weighted(n);
      for (int64_t part = first; part < last; ++part) {
        const int64_t end = std::min((part + 1) * rows_per_part, rows);
        for (int64_t r = part * rows_per_part; r < end; ++r)
          backward_row(dy.const_data_ptr<scalar_t>() + r * dy.stride(0),
                       x.const_data_ptr<scalar_t>() + r * x.stride(0),
                       z.const_data_ptr<scalar_t>() + r * z.stride(0),
                       weight.const_data_ptr<scalar_t>(),
                       inverse_rms.const_data_ptr<scalar_t>() + r * heads, heads, n,
                       dx.data_ptr<scalar_t>() + r * dx.stride(0),
                       dz.data_ptr<scalar_t>() + r * dz.stride(0), partial.data() + part * n,
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

#include "kernels/l2_norm.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>

#include <cmath>

#include "kernels/lanes.h"
#include "kernels/placement.h"

namespace draftlab {
namespace {

// One row of `heads` heads of n columns.
template <typename T>
DRAFTLAB_INLINE void forward_row_of(const T* x, int64_t heads, int64_t n, T scale, T eps, T* y,
                                    T* inverse_norm) {
  for (int64_t h = 0; h < heads; ++h, x += n, y += n) {
    inverse_norm[h] = 1 / std::sqrt(dot(x, x, n) + eps);
    const T factor = scale * inverse_norm[h];
    for (int64_t i = 0; i < n; ++i) y[i] = x[i] * factor;
  }
}

template <typename T>
DRAFTLAB_INLINE void backward_row_of(const T* dy, const T* y, int64_t heads, int64_t n, T scale,
                                     const T* inverse_norm, T* dx) {
  for (int64_t h = 0; h < heads; ++h, dy += n, y += n, dx += n) {
    const T along = dot(y, dy, n) / scale;
    for (int64_t i = 0; i < n; ++i) dx[i] = inverse_norm[h] * (scale * dy[i] - y[i] * along);
  }
}

DRAFTLAB_CLONES void forward_row(const float* x, int64_t heads, int64_t n, float scale, float eps,
                                 float* y, float* inverse_norm) {
  forward_row_of(x, heads, n, scale, eps, y, inverse_norm);
}
DRAFTLAB_CLONES void forward_row(const double* x, int64_t heads, int64_t n, double scale,
                                 double eps, double* y, double* inverse_norm) {
  forward_row_of(x, heads, n, scale, eps, y, inverse_norm);
}
DRAFTLAB_CLONES void backward_row(const float* dy, const float* y, int64_t heads, int64_t n,
                                  float scale, const float* inverse_norm, float* dx) {
  backward_row_of(dy, y, heads, n, scale, inverse_norm, dx);
}
DRAFTLAB_CLONES void backward_row(const double* dy, const double* y, int64_t heads, int64_t n,
                                  double scale, const double* inverse_norm, double* dx) {
  backward_row_of(dy, y, heads, n, scale, inverse_norm, dx);
}

at::Tensor by_head(const at::Tensor& x, const at::Tensor& inverse_norm) {
  return x.unflatten(1, {inverse_norm.size(1), -1});
}

void check_shapes(const at::Tensor& x, const at::Tensor& y, const at::Tensor& inverse_norm) {
  TORCH_CHECK(x.sizes() == y.sizes() && inverse_norm.size(0) == x.size(0) &&
                  inverse_norm.size(1) > 0 && x.size(1) % inverse_norm.size(1) == 0,
              "l2_norm: shapes do not fit");
}

}  // namespace

void plain_l2_norm(const at::Tensor& x, double scale, double eps, const at::Tensor& y,
                   const at::Tensor& inverse_norm) {
  const at::Tensor rows = by_head(x, inverse_norm);
  inverse_norm.copy_(rows.square().sum(2).add(eps).rsqrt());
  by_head(y, inverse_norm).copy_(rows * inverse_norm.unsqueeze(2) * scale);
}

void plain_l2_norm_backward(const at::Tensor& dy, const at::Tensor& y, double scale,
                            const at::Tensor& inverse_norm, const at::Tensor& dx) {
  const at::Tensor d = by_head(dy, inverse_norm), rows = by_head(y, inverse_norm);
  const at::Tensor along = (d * rows).sum(2, /*keepdim=*/true) / scale;
  by_head(dx, inverse_norm).copy_(inverse_norm.unsqueeze(2) * (d * scale - rows * along));
}

void l2_norm(const at::Tensor& x, double scale, double eps, const at::Tensor& y,
             const at::Tensor& inverse_norm) {
  if (!plain_rows({x, y}) || !plain_memory({inverse_norm})) {
    return plain_l2_norm(x, scale, eps, y, inverse_norm);
  }
  check_shapes(x, y, inverse_norm);
  const int64_t heads = inverse_norm.size(1), n = x.size(1) / heads;
  AT_DISPATCH_FLOATING_TYPES(x.scalar_type(), "l2_norm", [&] {
    const scalar_t* in = x.const_data_ptr<scalar_t>();
    scalar_t* out = y.data_ptr<scalar_t>();
    scalar_t* norms = inverse_norm.data_ptr<scalar_t>();
    at::parallel_for(0, x.size(0), rows_per_task(x.size(1)), [&](int64_t begin, int64_t end) {
      for (int64_t r = begin; r < end; ++r)
        forward_row(in + r * x.stride(0), heads, n, static_cast<scalar_t>(scale),
                    static_cast<scalar_t>(eps), out + r * y.stride(0), norms + r * heads);
    });
  });
}

void l2_norm_backward(const at::Tensor& dy, const at::Tensor& y, double scale,
                      const at::Tensor& inverse_norm, const at::Tensor& dx) {
  if (!plain_rows({dy, y, dx}) || !plain_memory({inverse_norm})) {
    return plain_l2_norm_backward(dy, y, scale, inverse_norm, dx);
  }
  check_shapes(dy, y, inverse_norm);
  check_shapes(dx, y, inverse_norm);
  const int64_t heads = inverse_norm.size(1), n = y.size(1) / heads;
  AT_DISPATCH_FLOATING_TYPES(y.scalar_type(), "l2_norm_backward", [&] {
    const scalar_t* d = dy.const_data_ptr<scalar_t>();
    const scalar_t* normed = y.const_data_ptr<scalar_t>();
    const scalar_t* norms = inverse_norm.const_data_ptr<scalar_t>();
    scalar_t* out = dx.data_ptr<scalar_t>();
    at::parallel_for(0, y.size(0), rows_per_task(y.size(1)), [&](int64_t begin, int64_t end) {
      for (int64_t r = begin; r < end; ++r)
        backward_row(d + r * dy.stride(0), normed + r * y.stride(0), heads, n,
                     static_cast<scalar_t>(scale), norms + r * heads, out + r * dx.stride(0));
    });
  });
}

}  // namespace draftlab

#pragma once

#include <ATen/core/Tensor.h>

namespace draftlab {

// Root-mean-square normalisation of rows (Zhang and Sennrich 2019):
//   inverse_rms[r] = 1 / sqrt(mean(x[r]^2) + eps),  y[r] = weight * (x[r] * inverse_rms[r]).
// x, y [R, n]; weight [n]; inverse_rms [R]; one floating dtype. Outputs have their shapes already.
// `y` may be `x`. Deterministic, whatever the number of threads.
void rms_norm(const at::Tensor& x, const at::Tensor& weight, double eps, const at::Tensor& y,
              const at::Tensor& inverse_rms);

// From the gradient dy [R, n] of y and what the forward pass saw and returned:
//   d_weight = sum over r of dy[r] * x[r] * inverse_rms[r]                                   [n]
//   dx[r] = s (g - x[r] s^2 mean(g * x[r])),  g = weight * dy[r],  s = inverse_rms[r]        [R, n]
// `accumulate` adds to dx instead of writing it. `dx` may be `dy`.
void rms_norm_backward(const at::Tensor& dy, const at::Tensor& x, const at::Tensor& weight,
                       const at::Tensor& inverse_rms, const at::Tensor& dx, bool accumulate,
                       const at::Tensor& d_weight);

// The same by ATen alone: the specification, and what devices without a kernel run.
void plain_rms_norm(const at::Tensor& x, const at::Tensor& weight, double eps, const at::Tensor& y,
                    const at::Tensor& inverse_rms);
void plain_rms_norm_backward(const at::Tensor& dy, const at::Tensor& x, const at::Tensor& weight,
                             const at::Tensor& inverse_rms, const at::Tensor& dx, bool accumulate,
                             const at::Tensor& d_weight);

}  // namespace draftlab

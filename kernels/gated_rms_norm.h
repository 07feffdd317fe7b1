#pragma once

#include <ATen/core/Tensor.h>

namespace draftlab {

// The output norm of a Gated DeltaNet layer, head by head: with n columns of row r as one head h,
//   inverse_rms[r, h] = 1 / sqrt(mean(x^2) + eps),  y = weight * (x * inverse_rms) * silu(z),
// silu(z) = z / (1 + e^-z). x, z, y [R, heads*n], rows may lie apart; weight [n]; inverse_rms
// [R, heads]; one floating dtype. Outputs have their shapes already. `y` may be `x` or `z`.
// Deterministic, whatever the number of threads.
void gated_rms_norm(const at::Tensor& x, const at::Tensor& z, const at::Tensor& weight, double eps,
                    const at::Tensor& y, const at::Tensor& inverse_rms);

// From the gradient dy of y and what the forward pass saw and returned, with s = 1 / (1 + e^-z),
// i = inverse_rms and f = dy * z * s:
//   dz = dy * weight * x * i * s * (1 + z * (1 - s))
//   d_weight = sum over rows and heads of f * x * i
//   dx = i (f weight - x i^2 mean(f weight x))
// All are written. `dx` may be `dy`, or `x`, and `dz` may be `z`.
void gated_rms_norm_backward(const at::Tensor& dy, const at::Tensor& x, const at::Tensor& z,
                             const at::Tensor& weight, const at::Tensor& inverse_rms,
                             const at::Tensor& dx, const at::Tensor& dz,
                             const at::Tensor& d_weight);

// The same by ATen alone: the specification, and what devices without a kernel run.
void plain_gated_rms_norm(const at::Tensor& x, const at::Tensor& z, const at::Tensor& weight,
                          double eps, const at::Tensor& y, const at::Tensor& inverse_rms);
void plain_gated_rms_norm_backward(const at::Tensor& dy, const at::Tensor& x, const at::Tensor& z,
                                   const at::Tensor& weight, const at::Tensor& inverse_rms,
                                   const at::Tensor& dx, const at::Tensor& dz,
                                   const at::Tensor& d_weight);

}  // namespace draftlab

#pragma once

#include <ATen/core/Tensor.h>

namespace draftlab {

// Each head of each row scaled to the length `scale`: with n columns of row r as one head h,
//   inverse_norm[r, h] = 1 / sqrt(sum(x^2) + eps),  y = scale * x * inverse_norm.
// x, y [R, heads*n], rows may lie apart; inverse_norm [R, heads], which says how many heads there
// are; one floating dtype. Outputs have their shapes already. `y` may be `x`. Deterministic.
void l2_norm(const at::Tensor& x, double scale, double eps, const at::Tensor& y,
             const at::Tensor& inverse_norm);

// From the gradient dy of y and what the forward pass returned:
//   dx = inverse_norm (scale * dy - y sum(y * dy) / scale).
// Written, not added to. `dx` may be `dy`.
void l2_norm_backward(const at::Tensor& dy, const at::Tensor& y, double scale,
                      const at::Tensor& inverse_norm, const at::Tensor& dx);

// The same by ATen alone: the specification, and what devices without a kernel run.
void plain_l2_norm(const at::Tensor& x, double scale, double eps, const at::Tensor& y,
                   const at::Tensor& inverse_norm);
void plain_l2_norm_backward(const at::Tensor& dy, const at::Tensor& y, double scale,
                            const at::Tensor& inverse_norm, const at::Tensor& dx);

}  // namespace draftlab

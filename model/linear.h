#pragma once

#include <ATen/core/Tensor.h>

namespace draftlab {

// The linear layer of an [out, in] weight over rows; outputs have their shapes already.

// y [R, out] = x [R, in] . weight^T
void linear(const at::Tensor& x, const at::Tensor& weight, at::Tensor& y);
// dx [R, in] (+)= dy [R, out] . weight
void linear_input_gradient(const at::Tensor& dy, const at::Tensor& weight, at::Tensor dx,
                           bool accumulate = false);
// d_weight [out, in] = dy^T . x
void linear_weight_gradient(const at::Tensor& dy, const at::Tensor& x, at::Tensor d_weight);

}  // namespace draftlab

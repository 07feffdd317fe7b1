#include "model/linear.h"

#include <ATen/ATen.h>

namespace draftlab {

void linear(const at::Tensor& x, const at::Tensor& weight, at::Tensor& y) {
  at::mm_out(y, x, weight.t());
}

void linear_input_gradient(const at::Tensor& dy, const at::Tensor& weight, at::Tensor dx,
                           bool accumulate) {
  at::addmm_out(dx, dx, dy, weight, /*beta=*/accumulate ? 1 : 0);
}

void linear_weight_gradient(const at::Tensor& dy, const at::Tensor& x, at::Tensor d_weight) {
  at::mm_out(d_weight, dy.t(), x);
}

}  // namespace draftlab

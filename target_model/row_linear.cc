#include "target_model/row_linear.h"

#include <ATen/ATen.h>

#include "kernels/row_product.h"

namespace draftlab {

RowLinear::RowLinear(const at::Tensor& weight, at::Tensor bias)
    : weight_(weight.contiguous()), bias_(std::move(bias)) {}

at::Tensor RowLinear::operator()(const at::Tensor& x) const {
  const at::Tensor in = x.contiguous(), out = at::empty({x.size(0), weight_.size(0)});
  row_product(in.const_data_ptr<float>(), weight_.const_data_ptr<float>(), x.size(0), x.size(1),
              weight_.size(0), out.mutable_data_ptr<float>());
  if (bias_.defined()) out.add_(bias_);
  return out;
}

at::Tensor RowLinear::add_to(const at::Tensor& sum, const at::Tensor& x) const {
  return (*this)(x).add_(sum);
}

}  // namespace draftlab

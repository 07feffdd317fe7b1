#pragma once

#include "target_model/frozen_linear.h"

namespace draftlab {

// By kernels/row_product.h: the bits of a row are the same whatever other rows there are, on every
// machine, so that what is verified beside other tokens is what would be decoded alone.
class RowLinear : public FrozenLinear {
 public:
  explicit RowLinear(const at::Tensor& weight, at::Tensor bias = {});
  at::Tensor operator()(const at::Tensor& x) const override;
  at::Tensor add_to(const at::Tensor& sum, const at::Tensor& x) const override;

 private:
  at::Tensor weight_, bias_;
};

}  // namespace draftlab

#pragma once

#include <ATen/core/Tensor.h>

#include <memory>

namespace draftlab {

// A linear layer that is never trained. float32, CPU. Deterministic for equal inputs and threads.
class FrozenLinear {
 public:
  virtual ~FrozenLinear() = default;
  // x [R, in] -> x W^T + bias [R, out], a new tensor.
  virtual at::Tensor operator()(const at::Tensor& x) const = 0;
  // sum + x W^T + bias [R, out], a new tensor.
  virtual at::Tensor add_to(const at::Tensor& sum, const at::Tensor& x) const = 0;
};

// How products with the weights are made.
enum class Products {
  kPacked,   // PackedLinear: fast for many rows; the bits of a row may depend on how many there are
  kRowwise,  // RowLinear: as fast for few rows, whose bits do not depend on each other
};

// weight [out, in], bias [out] or undefined.
std::unique_ptr<FrozenLinear> frozen_linear(Products products, const at::Tensor& weight,
                                            const at::Tensor& bias = {});

}  // namespace draftlab

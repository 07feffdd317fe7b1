#pragma once

#include <ATen/core/Tensor.h>

namespace draftlab {

// A frozen linear layer whose matrix oneDNN keeps in its own blocked layout, so that no product has
// to bring it into order again: 205-225 GFLOP/s where at::mm reaches 110-190 for 64 to 512 rows
// (two Zen 4 cores, benchmarks/target_forward). Deterministic for equal inputs and threads.
class PackedLinear {
 public:
  PackedLinear() = default;
  // weight [out, in], bias [out] or undefined; float32, CPU. The weight itself is not kept.
  explicit PackedLinear(const at::Tensor& weight, at::Tensor bias = {});

  // x [R, in] -> x W^T + bias [R, out], a new tensor.
  at::Tensor operator()(const at::Tensor& x) const;
  // sum + x W^T + bias [R, out], a new tensor.
  at::Tensor add_to(const at::Tensor& sum, const at::Tensor& x) const;

 private:
  at::Tensor packed_, bias_;
};

}  // namespace draftlab

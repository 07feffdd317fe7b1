#pragma once

#include "target_model/frozen_linear.h"

namespace draftlab {

// A frozen linear layer whose matrix oneDNN keeps in its own blocked layout, so that no product has
// to bring it into order again: 205-225 GFLOP/s where at::mm reaches 110-190 for 64 to 512 rows
// (two Zen 4 cores, benchmarks/target_forward). Deterministic for equal inputs and threads.
class PackedLinear : public FrozenLinear {
 public:
  PackedLinear() = default;
  // weight [out, in], bias [out] or undefined; float32, CPU. The weight itself is not kept.
  explicit PackedLinear(const at::Tensor& weight, at::Tensor bias = {});

  at::Tensor operator()(const at::Tensor& x) const override;
  at::Tensor add_to(const at::Tensor& sum, const at::Tensor& x) const override;

 private:
  at::Tensor packed_, bias_;
};

}  // namespace draftlab

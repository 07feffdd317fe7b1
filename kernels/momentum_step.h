#pragma once

#include <ATen/core/Tensor.h>

namespace draftlab {

// The first half of a Muon step: the mean gradient m, and the direction u that will be
// orthogonalized, with k = 1 - momentum, or 1 where `accumulate` (Keller Jordan's and torch's form,
// and Moonlight's and dion's; the same direction, u and m 1 / (1 - momentum) times as large):
//   m <- momentum m + k g
//   u  = k g + momentum m    (nesterov), or m
struct MomentumStep {
  double momentum = 0.95;
  bool accumulate = false;
  bool nesterov = true;
  // C-Muon (Liang et al. 2024, arXiv 2411.16085): u <- u mask / max(mean(mask), 1e-3) with
  // mask = [u g > 0]. Before the orthogonalization: a mask after it would undo it.
  bool cautious = false;
};

// The specification, one ATen operation after the other. m, g, u: one shape, floating dtype and
// device; m is updated, u overwritten.
void momentum_step_plain(at::Tensor& m, const at::Tensor& g, at::Tensor& u,
                         const MomentumStep& step);

// The same in one pass over memory where the tensors are contiguous float32 or float64 on the CPU
// (plus one over u where `cautious`). The bits depend neither on the number of threads nor on the
// instruction set.
void momentum_step(at::Tensor& m, const at::Tensor& g, at::Tensor& u, const MomentumStep& step);

// The second half: w <- w - shrink w - rate o, where `cautious` the decay only for entries with
// o w >= 0 (Chen et al. 2025, arXiv 2510.12402), w before the step.
struct WeightStep {
  double rate = 0;    // of this step and shape, schedule included
  double shrink = 0;  // rate of the decay times weight_decay
  bool cautious = false;
};
void weight_step_plain(at::Tensor& w, const at::Tensor& o, const WeightStep& step);

// In one pass over memory where w is contiguous float32 or float64 on the CPU and o is too, or is
// the transpose of a contiguous matrix. Bits as above.
void weight_step(at::Tensor& w, const at::Tensor& o, const WeightStep& step);

}  // namespace draftlab

#pragma once

#include <ATen/core/Tensor.h>

namespace draftlab {

// The constants of one Lion step (Chen et al. 2023, arXiv 2302.06675):
//   u = sign(beta1 m + (1 - beta1) g)
//   m <- beta2 m + (1 - beta2) g
//   w <- w (1 - learning_rate weight_decay) - learning_rate u
struct LionStep {
  double learning_rate = 0;  // of this step, schedule included
  double beta1 = 0.9, beta2 = 0.99;
  double weight_decay = 0;
  bool cautious_decay = false;  // only entries with u w >= 0 decay (arXiv 2510.12402)
  // C-Lion (arXiv 2411.16085): u <- u mask numel / (sum(mask) + 1) with mask = [u g > 0].
  bool cautious = false;
};

// The specification, one ATen operation after the other. w, g, m: same shape, floating dtype and
// device; updates w and m in place. NaN stays NaN.
void lion_step_plain(at::Tensor& w, const at::Tensor& g, at::Tensor& m, const LionStep& step);

// The same in one pass over memory (two, where `cautious`) where the tensors are contiguous float32
// or float64 on the CPU. The bits depend neither on the number of threads nor on the instruction
// set.
void lion_step(at::Tensor& w, const at::Tensor& g, at::Tensor& m, const LionStep& step);

}  // namespace draftlab

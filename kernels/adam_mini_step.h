#pragma once

#include <ATen/core/Tensor.h>

#include <vector>

#include "kernels/adamw_step.h"

namespace draftlab {

// One step of Adam-mini (Zhang et al. 2024, arXiv 2406.16793): AdamW with one second moment for
// each block of consecutive entries,
//   v_b <- beta2 v_b + (1 - beta2) mean of g^2 over block b
// w, g, m: one shape, floating dtype and device, contiguous. `sizes` are the entries of each block
// in order and sum to those of w; v holds one number for each. Updates w, m and v in place. The
// cautious forms of AdamWStep do not exist.
void adam_mini_step_plain(at::Tensor& w, const at::Tensor& g, at::Tensor& m, at::Tensor& v,
                          const std::vector<int64_t>& sizes, const AdamWStep& step);

// The same, with each block read once, on the CPU in float32 and float64. The bits depend neither
// on the number of threads nor on the instruction set.
void adam_mini_step(at::Tensor& w, const at::Tensor& g, at::Tensor& m, at::Tensor& v,
                    const std::vector<int64_t>& sizes, const AdamWStep& step);

}  // namespace draftlab

#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "kernels/frozen_head_divergence.h"
#include "record/loss_config.h"

namespace draftlab {

// Losses and their gradients for the logits of the drafter, of R rows over the draft vocabulary.
struct PlainLosses {
  at::Tensor losses;    // [R]
  at::Tensor d_logits;  // [R, V_d]
};

// What slot weights are made from; [N*B] in the order of BlockBatch, 0 where nothing is supervised.
struct SlotLosses {
  int64_t block_size = 0;
  std::span<const double> losses;
  std::span<const uint8_t> supervised;
};

// The mathematics of one kind of loss (record/losses has its description). p is the target's
// distribution over the draft vocabulary, q the drafter's.
struct LossRule {
  const char* kind;
  // The loss of one slot, times `weight`; unless `d_logits` [V_d] is null, adds its gradient there.
  double (*of_float)(const DistributionRow<float>& row, float weight, float* d_logits);
  double (*of_double)(const DistributionRow<double>& row, double weight, double* d_logits);
  // The same by ATen alone, unweighted: the specification.
  PlainLosses (*plain)(const at::Tensor& log_p, const at::Tensor& log_q, const at::Tensor& labels);
  // Weights [N*B] of the slots in place of the batch's, held fixed in the gradient; null: none.
  std::vector<double> (*weights)(const LossConfig& config, const SlotLosses& slots) = nullptr;
};

// Throws Error for a kind without a rule.
const LossRule& loss_rule(const std::string& kind);

namespace losses {
extern const LossRule ce_rule, dpace_rule, kl_rule, rkl_rule, jsd_rule, tv_rule, nla_rule,
    lk_hybrid_rule;
}

}  // namespace draftlab

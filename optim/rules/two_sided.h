#pragma once

#include <vector>

#include "kernels/adamw_step.h"
#include "optim/update_rule.h"

namespace draftlab {

// What SOAP and Shampoo share: a preconditioner for each side of each row block of a split.
class TwoSidedRule : public UpdateRule {
 public:
  // `second` names the buffer of the second moment.
  TwoSidedRule(const OptimizerConfig& options, const Route& route, const at::Tensor& weight,
               const std::string& second);
  // Two products with each preconditioner, and those that make it.
  double cost() const override;

 protected:
  // A square buffer of block `i`; its name has the number where there are several blocks.
  at::Tensor square(const std::string& name, size_t i);

  const std::vector<RowBlocks> blocks_;  // one by one
  const int64_t every_;                  // gradients between new bases or roots
  at::Tensor &m_, &v_;
  int64_t &m_steps_, &v_steps_, &gradients_;
  AdamWStep constants_;
};

// L <- beta L + (1 - beta) G G^T, R <- beta R + (1 - beta) G^T G, for G [m, n], L [m, m], R [n, n];
// an undefined one is left out.
void mix_in(const at::Tensor& gradient, const at::Tensor& left, const at::Tensor& right,
            double beta);

}  // namespace draftlab

#pragma once

#include <string>
#include <vector>

#include "kernels/momentum_step.h"
#include "optim/update_rule.h"

namespace draftlab {

// What the rules that orthogonalize a momentum are made of; their steps put it together.
class MuonRule : public UpdateRule {
 public:
  MuonRule(const OptimizerConfig& options, const Route& route, const at::Tensor& weight);
  double cost() const override;

 protected:
  // M (and the shadow of "shadow_beta2") takes the gradient in; returns U, of its shape, in slot 0.
  at::Tensor momentum(const at::Tensor& gradient, Scratch& scratch);
  // O of x [rows, n] or [blocks, rows, n]; of a vector [d], the diagonal of a matrix, where x is
  // one. `sample` may be null and gets the first matrix.
  at::Tensor orthogonalized(const at::Tensor& x, Scratch& scratch,
                            OrthogonalizationSample* sample) const;
  // W <- W (1 - eta lambda) - rate O, with the decay's form; shapes as of orthogonalized().
  void move(at::Tensor& weight, const at::Tensor& o, double rate, double schedule) const;

  const std::vector<RowBlocks> blocks_;  // of a matrix

 private:
  const Orthogonalization how_;
  const double base_rate_, shadow_beta2_;
  const std::string decay_;
  const MomentumStep form_;
  at::Tensor& momentum_;
  int64_t& momentum_steps_;
  at::Tensor shadow_;  // mean squared gradient, for a planned switch to AdamW; or undefined
  int64_t* shadow_steps_ = nullptr;
};

}  // namespace draftlab

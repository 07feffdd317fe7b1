#include "optim/rules/shampoo.h"

#include <ATen/ATen.h>

#include <limits>

#include "base/stopwatch.h"
#include "kernels/momentum_step.h"
#include "kernels/square_root.h"
#include "optim/rules/two_sided.h"

namespace draftlab {

at::Tensor shampoo_direction(const at::Tensor& gradient, Shampoo& state, const AdamWStep& step,
                             Workspace& workspace) {
  const AdamWConstants<double> k(step);
  state.m.mul_(k.beta1).add_(gradient, k.rest1);
  state.v.mul_(k.beta2).addcmul_(gradient, gradient, k.rest2);
  at::Tensor u = workspace.matrix(0, gradient.size(0), gradient.size(1), gradient);
  at::Tensor other = workspace.matrix(1, gradient.size(0), gradient.size(1), gradient);
  square_root_out(other, state.v);
  other.mul_(k.scale).add_(k.epsilon).reciprocal_().mul_(state.m);
  const at::Tensor length =
      at::linalg_vector_norm(other).mul_(1 / (1 - std::pow(step.beta1, step.m_steps)));
  at::mm_out(other, state.left_root, state.m);
  at::mm_out(u, other, state.right_root);
  const at::Tensor norm = at::linalg_vector_norm(u);
  return u.mul_(at::where(norm == 0, 0, length / norm));
}

at::Tensor inverse_fourth_root(const at::Tensor& p, double epsilon) {
  const auto [values, vectors] = at::linalg_eigh(p.to(at::kDouble));  // ascending
  const double rounding = p.scalar_type() == at::kDouble ? std::numeric_limits<double>::epsilon()
                                                         : std::numeric_limits<float>::epsilon();
  const double largest = values[-1].item<double>();
  if (largest <= 0) return at::eye(p.size(0), p.options());
  const at::Tensor roots =
      values.clamp_min(0).add_(largest * std::max(epsilon, rounding)).pow_(-0.25);
  return (vectors * roots).mm(vectors.t()).to(p.scalar_type());
}

namespace rules {
namespace {

class ShampooRule : public TwoSidedRule {
 public:
  ShampooRule(const OptimizerConfig& options, const Route& route, const at::Tensor& weight)
      : TwoSidedRule(options, route, weight, "exp_avg_sq") {
    for (size_t i = 0; i < blocks_.size(); ++i) {
      left_.push_back(square("left", i));
      right_.push_back(square("right", i));
      states_.push_back({view_of(m_, blocks_[i]), view_of(v_, blocks_[i]), square("left_root", i),
                         square("right_root", i)});
    }
  }

  void step(at::Tensor& weight, const at::Tensor& gradient, double schedule, Scratch& scratch,
            OrthogonalizationSample*) override {
    AdamWStep step = constants_;
    step.m_steps = ++m_steps_;
    step.v_steps = ++v_steps_;
    for (size_t i = 0; i < blocks_.size(); ++i) {
      Shampoo& state = states_[i];
      const at::Tensor g = view_of(gradient, blocks_[i]);  // [rows, n]
      mix_in(g, left_[i], right_[i], constants_.beta2);    // [rows, rows], [n, n]
      Stopwatch watch;
      if (gradients_ % every_ == 0) {
        state.left_root.copy_(inverse_fourth_root(left_[i], constants_.epsilon));
        state.right_root.copy_(inverse_fourth_root(right_[i], constants_.epsilon));
      }
      scratch.orthogonalization_seconds += watch.lap();
      at::Tensor w = view_of(weight, blocks_[i]);  // [rows, n]
      const double rate = blocks_[i].learning_rate * schedule;
      weight_step(w, shampoo_direction(g, state, step, scratch.matrices),
                  {rate, rate * route_.weight_decay, false});
    }
    ++gradients_;
  }

 private:
  std::vector<at::Tensor> left_, right_;
  std::vector<Shampoo> states_;  // views of the state, one a block
};

}  // namespace

std::unique_ptr<UpdateRule> shampoo(const OptimizerConfig& options, const Route& route,
                                    const at::Tensor& weight) {
  return std::make_unique<ShampooRule>(options, route, weight);
}

}  // namespace rules
}  // namespace draftlab

#include <ATen/ATen.h>

#include "base/stopwatch.h"
#include "kernels/momentum_step.h"
#include "optim/shampoo.h"
#include "optim/soap.h"
#include "optim/update_rule.h"

// SOAP and Shampoo: each row block of a split has preconditioners of its own.

namespace draftlab {
namespace {

// The row blocks of a split, one by one.
std::vector<RowBlocks> single_blocks(const Route& route) {
  std::vector<RowBlocks> blocks;
  int64_t row = 0;
  for (size_t i = 0; i < route.split.size(); row += route.split[i++])
    blocks.push_back({row, 1, route.split[i], route.learning_rates[i]});
  return blocks;
}

class PreconditionedRule : public UpdateRule {
 public:
  // `second` names the second moment.
  PreconditionedRule(const OptimizerConfig& config, const Route& route, const at::Tensor& weight,
                     const std::string& second)
      : UpdateRule(route, weight),
        blocks_(single_blocks(route)),
        every_(config.integer("precondition_every")),
        m_(add_state("exp_avg", weight.sizes())),
        v_(add_state(second, weight.sizes())),
        m_steps_(add_counter("exp_avg_steps")),
        v_steps_(add_counter(second + "_steps")),
        gradients_(add_counter("preconditioner_steps")) {
    constants_.beta1 = config.number("beta1");
    constants_.beta2 = config.number("beta2");
    constants_.epsilon = config.number("epsilon");
  }

  bool needs_finite_gradient() const override { return true; }

  // Two products with each preconditioner, and those that make it.
  double cost() const override {
    double cost = UpdateRule::cost();
    for (const RowBlocks& block : blocks_) {
      const auto m = static_cast<double>(block.rows), n = static_cast<double>(route_.shape[1]);
      cost += 8 * m * n * (m + n) + 25 * (m * m * m + n * n * n) / static_cast<double>(every_);
    }
    return cost;
  }

 protected:
  // A square buffer of block `i`; its name has the number where there are several blocks.
  at::Tensor add_square(const std::string& buffer, size_t i, int64_t side) {
    return add_state(blocks_.size() == 1 ? buffer : buffer + "." + std::to_string(i), {side, side});
  }

  const std::vector<RowBlocks> blocks_;
  const int64_t every_;  // gradients between new bases or roots
  at::Tensor &m_, &v_;
  int64_t &m_steps_, &v_steps_, &gradients_;
  AdamWStep constants_;
};

class SoapRule : public PreconditionedRule {
 public:
  SoapRule(const OptimizerConfig& config, const Route& route, const at::Tensor& weight)
      // In another basis than AdamW's, and so under another name.
      : PreconditionedRule(config, route, weight, "exp_avg_sq_rotated") {
    const int64_t largest = config.integer("largest_side"), cols = weight.size(1);
    for (size_t i = 0; i < blocks_.size(); ++i) {
      const int64_t rows = blocks_[i].rows;
      Soap state{view_of(m_, blocks_[i]), view_of(v_, blocks_[i]), {}, {}, {}, {}};
      if (rows <= largest) {
        state.left = add_square("left", i, rows);
        state.left_basis = add_square("left_basis", i, rows);
      }
      if (cols <= largest) {
        state.right = add_square("right", i, cols);
        state.right_basis = add_square("right_basis", i, cols);
      }
      states_.push_back(std::move(state));
    }
  }

  // As in github.com/nikhilvyas/SOAP: the first gradient only fills the preconditioners, later ones
  // update the weight first, and decay comes after the update.
  void step(at::Tensor& weight, const at::Tensor& gradient, double schedule, Scratch& scratch,
            OrthogonalizationSample*) override {
    const bool first = gradients_ == 0;
    AdamWStep step = constants_;
    if (!first) {
      step.m_steps = ++m_steps_;
      step.v_steps = ++v_steps_;
    }
    for (size_t i = 0; i < blocks_.size(); ++i) {
      Soap& state = states_[i];
      const at::Tensor g = view_of(gradient, blocks_[i]);
      if (!first) {
        at::Tensor w = view_of(weight, blocks_[i]);
        const double rate = blocks_[i].learning_rate * schedule,
                     shrink = rate * route_.weight_decay;
        weight_step(w, soap_direction(g, state, step, scratch.matrices),
                    {rate * (1 - shrink), shrink, false});
      }
      mix_in(g, state.left, state.right, constants_.beta2);
      Stopwatch watch;
      if (first) {
        first_basis(state);
      } else if (gradients_ % every_ == 0) {
        next_basis(state);
      }
      scratch.orthogonalization_seconds += watch.lap();
    }
    ++gradients_;
  }

 private:
  std::vector<Soap> states_;  // views of the state, one a block
};

class ShampooRule : public PreconditionedRule {
 public:
  ShampooRule(const OptimizerConfig& config, const Route& route, const at::Tensor& weight)
      : PreconditionedRule(config, route, weight, "exp_avg_sq") {
    for (size_t i = 0; i < blocks_.size(); ++i) {
      left_.push_back(add_square("left", i, blocks_[i].rows));
      right_.push_back(add_square("right", i, weight.size(1)));
      states_.push_back({view_of(m_, blocks_[i]), view_of(v_, blocks_[i]),
                         add_square("left_root", i, blocks_[i].rows),
                         add_square("right_root", i, weight.size(1))});
    }
  }

  void step(at::Tensor& weight, const at::Tensor& gradient, double schedule, Scratch& scratch,
            OrthogonalizationSample*) override {
    AdamWStep step = constants_;
    step.m_steps = ++m_steps_;
    step.v_steps = ++v_steps_;
    for (size_t i = 0; i < blocks_.size(); ++i) {
      Shampoo& state = states_[i];
      const at::Tensor g = view_of(gradient, blocks_[i]);
      mix_in(g, left_[i], right_[i], constants_.beta2);
      Stopwatch watch;
      if (gradients_ % every_ == 0) {
        state.left_root.copy_(inverse_fourth_root(left_[i], constants_.epsilon));
        state.right_root.copy_(inverse_fourth_root(right_[i], constants_.epsilon));
      }
      scratch.orthogonalization_seconds += watch.lap();
      at::Tensor w = view_of(weight, blocks_[i]);
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

std::unique_ptr<UpdateRule> make_preconditioned_rule(const OptimizerConfig& config,
                                                     const Route& route, const at::Tensor& weight) {
  if (route.rule == "soap") return std::make_unique<SoapRule>(config, route, weight);
  return std::make_unique<ShampooRule>(config, route, weight);
}

}  // namespace draftlab

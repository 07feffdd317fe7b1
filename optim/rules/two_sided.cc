#include "optim/rules/two_sided.h"

#include <ATen/ATen.h>

namespace draftlab {
namespace {

std::vector<RowBlocks> single_blocks(const Route& route) {
  std::vector<RowBlocks> blocks;
  int64_t row = 0;
  for (size_t i = 0; i < route.split.size(); row += route.split[i++])
    blocks.push_back({row, 1, route.split[i], route.learning_rates[i]});
  return blocks;
}

}  // namespace

TwoSidedRule::TwoSidedRule(const OptimizerConfig& options, const Route& route,
                           const at::Tensor& weight, const std::string& second)
    : UpdateRule(options, route, weight),
      blocks_(single_blocks(route)),
      every_(options.integer("precondition_every")),
      m_(buffer("exp_avg")),
      v_(buffer(second)),
      m_steps_(counter("exp_avg_steps")),
      v_steps_(counter(second + "_steps")),
      gradients_(counter("preconditioner_steps")) {
  constants_.beta1 = options.number("beta1");
  constants_.beta2 = options.number("beta2");
  constants_.epsilon = options.number("epsilon");
}

double TwoSidedRule::cost() const {
  double cost = UpdateRule::cost();
  for (const RowBlocks& block : blocks_) {
    const auto m = static_cast<double>(block.rows), n = static_cast<double>(route_.shape[1]);
    cost += 8 * m * n * (m + n) + 25 * (m * m * m + n * n * n) / static_cast<double>(every_);
  }
  return cost;
}

at::Tensor TwoSidedRule::square(const std::string& name, size_t i) {
  return buffer(blocks_.size() == 1 ? name : name + "." + std::to_string(i));
}

void mix_in(const at::Tensor& gradient, const at::Tensor& left, const at::Tensor& right,
            double beta) {
  if (left.defined()) left.addmm_(gradient, gradient.t(), beta, 1 - beta);
  if (right.defined()) right.addmm_(gradient.t(), gradient, beta, 1 - beta);
}

}  // namespace draftlab

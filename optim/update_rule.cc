#include "optim/update_rule.h"

#include <ATen/ATen.h>

#include <numeric>

#include "base/error.h"

namespace draftlab {

UpdateRule::UpdateRule(const Route& route, const at::Tensor& weight)
    : route_(route),
      like_(at::empty(
          {0}, at::TensorOptions()
                   .device(weight.device())
                   .dtype(weight.scalar_type() == at::kDouble ? at::kDouble : at::kFloat))) {}

double UpdateRule::cost() const {
  // About 30 bytes an entry move in the time of this many operations.
  constexpr double kPerEntry = 64;
  return std::accumulate(
      route_.shape.begin(), route_.shape.end(), kPerEntry,
      [](double product, int64_t side) { return product * static_cast<double>(side); });
}

at::Tensor& UpdateRule::add_state(const std::string& buffer, at::IntArrayRef shape) {
  return state_[buffer] = at::zeros(shape, like_.options());
}

int64_t& UpdateRule::add_counter(const std::string& buffer) {
  at::Tensor& counter = state_[buffer] = at::zeros({}, at::kLong);
  return *counter.mutable_data_ptr<int64_t>();
}

std::vector<RowBlocks> row_blocks(const Route& route) {
  std::vector<RowBlocks> all;
  int64_t row = 0;
  for (size_t i = 0; i < route.split.size(); ++i) {
    const int64_t rows = route.split[i];
    if (!all.empty() && all.back().rows == rows &&
        all.back().learning_rate == route.learning_rates[i]) {
      ++all.back().blocks;
    } else {
      all.push_back({row, 1, rows, route.learning_rates[i]});
    }
    row += rows;
  }
  return all;
}

at::Tensor view_of(const at::Tensor& x, const RowBlocks& blocks) {
  const at::Tensor rows = x.narrow(0, blocks.first_row, blocks.blocks * blocks.rows);
  return blocks.blocks == 1 ? rows : rows.view({blocks.blocks, blocks.rows, x.size(1)});
}

std::unique_ptr<UpdateRule> make_update_rule(const OptimizerConfig& config, const Route& route,
                                             const at::Tensor& weight) {
  const OptimizerKind& kind = optimizer_kind(config.kind, "optimizer");
  if (route.rule != "adamw" && route.rule != kind.matrix_rule) {
    throw Error(route.name,
                "has the update rule '" + route.rule + "', which is not one of " + config.kind);
  }
  if (route.rule == "adamw" || route.rule == "lion" || route.rule == "adam_mini")
    return make_adam_rule(config, route, weight);
  if (weight.dim() != 2 && !kind.takes_vectors)
    throw Error(route.name, "is no matrix, and " + route.rule + " updates matrices only");
  if (route.rule == "soap" || route.rule == "shampoo")
    return make_preconditioned_rule(config, route, weight);
  return make_muon_rule(config, route, weight);
}

}  // namespace draftlab

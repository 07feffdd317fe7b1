#include "optim/update_rule.h"

#include <ATen/ATen.h>

#include <numeric>

#include "base/error.h"
#include "optim/hyperball.h"
#include "record/hyperball.h"

namespace draftlab {

at::Tensor Scratch::like(const at::Tensor& like, size_t slot) {
  return matrices.matrix(slot, 1, like.numel(), like).view(like.sizes());
}

UpdateRule::UpdateRule(const OptimizerKind& kind, const std::vector<Buffer>& kept,
                       const Route& route, const at::Tensor& weight)
    : route_(route),
      kind_(kind),
      like_(at::empty({0},
                      at::TensorOptions()
                          .device(weight.device())
                          .dtype(weight.scalar_type() == at::kDouble ? at::kDouble : at::kFloat))),
      state_(zeros(kept, like_.options())) {}

UpdateRule::UpdateRule(const OptimizerConfig& options, const Route& route, const at::Tensor& weight)
    : UpdateRule(optimizer_kind(options.kind, route.name), buffers(options, route), route, weight) {
}

double UpdateRule::cost() const {
  // About 30 bytes an entry move in the time of this many operations.
  constexpr double kPerEntry = 64;
  return std::accumulate(
      route_.shape.begin(), route_.shape.end(), kPerEntry,
      [](double product, int64_t side) { return product * static_cast<double>(side); });
}

at::Tensor& UpdateRule::buffer(const std::string& name) {
  const auto found = state_.find(name);
  if (found == state_.end()) {
    throw Error(route_.name, "has no buffer '" + name + "': " + route_.rule +
                                 " does not declare it in record/optimizers");
  }
  return found->second;
}

int64_t& UpdateRule::counter(const std::string& name) {
  return *buffer(name).mutable_data_ptr<int64_t>();
}

NamedTensors zeros(const std::vector<Buffer>& kept, const at::TensorOptions& like) {
  NamedTensors state;
  for (const Buffer& buffer : kept) {
    const bool counts = buffer.meaning == Buffer::Meaning::kCounter;
    state[buffer.name] = counts ? at::zeros({}, at::kLong) : at::zeros(buffer.shape, like);
    if (!buffer.steps.empty()) state[buffer.steps] = at::zeros({}, at::kLong);
  }
  return state;
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
  const OptimizerKind& kind = rule_of(config, route);
  if (weight.dim() != 2 && !kind.takes_vectors)
    throw Error(route.name, "is no matrix, and " + route.rule + " updates matrices only");
  const auto rule = update_rules().find(kind.name);
  if (rule == update_rules().end())
    throw Error(route.name, "has no update rule: " + kind.name + " is not in optim/rules/table.cc");
  const OptimizerConfig options = rule_options(config, route);
  if (on_hyperball(config, route)) return make_hyperball_rule(rule->second, options, route, weight);
  return rule->second(options, route, weight);
}

}  // namespace draftlab

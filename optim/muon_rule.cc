#include <ATen/ATen.h>

#include "base/stopwatch.h"
#include "kernels/momentum_step.h"
#include "optim/normuon.h"
#include "optim/orthogonalization.h"
#include "optim/update_rule.h"

// Muon, Turbo-Muon, NorMuon and MuonAll: momentum, orthogonalized.

namespace draftlab {
namespace {

class MuonRule : public UpdateRule {
 public:
  MuonRule(const OptimizerConfig& config, const Route& route, const at::Tensor& weight)
      : UpdateRule(route, weight),
        how_(orthogonalization(config)),
        base_rate_(config.learning_rate()),
        decay_(config.text("decay")) {
    form_ = {config.number("momentum"), config.text("momentum_form") == "accumulate",
             config.boolean("nesterov"), config.boolean("cautious")};
    // The name says which of the two forms it is; load_state() converts.
    momentum_ = add_state(form_.accumulate ? "momentum_sum" : "momentum", weight.sizes());
    momentum_steps_ = &add_counter("momentum_steps");
    shadow_beta2_ = config.number("shadow_beta2");
    if (shadow_beta2_ > 0) {
      shadow_ = add_state("exp_avg_sq", weight.sizes());
      shadow_steps_ = &add_counter("exp_avg_sq_steps");
    }
    if (weight.dim() == 2) blocks_ = row_blocks(route);
    if (route.rule == "normuon") {
      normuon_ = {config.text("convention"), config.number("beta2"), config.text("scale") == "rms"};
      add_statistics();
    }
  }

  bool needs_finite_gradient() const override { return true; }

  double cost() const override {
    double cost = UpdateRule::cost();
    for (const RowBlocks& part : blocks_)
      cost += static_cast<double>(part.blocks) *
              orthogonalization_cost(part.rows, route_.shape[1], how_).actual_flops;
    return cost;
  }

  void step(at::Tensor& weight, const at::Tensor& gradient, double schedule, Scratch& scratch,
            OrthogonalizationSample* sample) override {
    ++*momentum_steps_;
    if (shadow_.defined()) {
      shadow_.mul_(shadow_beta2_).addcmul_(gradient, gradient, 1 - shadow_beta2_);
      ++*shadow_steps_;
    }
    at::Tensor u = scratch.matrices.matrix(0, 1, weight.numel(), weight).view(weight.sizes());
    momentum_step(momentum_, gradient, u, form_);
    if (weight.dim() != 2) {  // MuonAll's diagonal matrix
      Stopwatch watch;
      const at::Tensor o = newton_schulz_diagonal(u.reshape(-1), how_);
      scratch.orthogonalization_seconds += watch.lap();
      if (sample != nullptr) *sample = {u.reshape(-1).clone(), o.clone()};
      move(weight, o.view(weight.sizes()), route_.learning_rates[0], schedule);
      return;
    }
    for (size_t i = 0; i < blocks_.size(); ++i) {
      const at::Tensor x = view_of(u, blocks_[i]);
      Stopwatch watch;
      at::Tensor o = orthogonalize(x, how_, scratch.orthogonalization);
      scratch.orthogonalization_seconds += watch.lap();
      if (sample != nullptr && i == 0) {
        const bool batch = x.dim() == 3;
        *sample = {(batch ? x[0] : x).clone(), (batch ? o[0] : o).clone()};
      }
      if (!statistics_.empty()) even_out(o, statistics_[i], normuon_);
      at::Tensor w = view_of(weight, blocks_[i]);
      move(w, o, blocks_[i].learning_rate, schedule);
    }
  }

 private:
  // V of each part, views of one buffer: a number a row, or in modded_nanogpt's convention one for
  // each place of a block's longer side.
  void add_statistics() {
    const int64_t cols = route_.shape[1];
    const bool longer = normuon_.convention == "modded_nanogpt";
    std::vector<std::vector<int64_t>> shapes;
    int64_t numbers = 0;
    for (const RowBlocks& part : blocks_) {
      const bool columns = longer && part.rows < cols;
      shapes.push_back({part.blocks, columns ? 1 : part.rows, columns ? cols : 1});
      numbers += part.blocks * (columns ? cols : part.rows);
    }
    const at::Tensor all =
        add_state(longer ? "mean_square" : "row_mean_square", {numbers, 1}).view(-1);
    int64_t at = 0;
    for (const auto& shape : shapes) {
      const int64_t count = shape[0] * shape[1] * shape[2];
      const at::Tensor part = all.narrow(0, at, count).view(shape);
      statistics_.push_back(shape[0] == 1 ? part[0] : part);
      at += count;
    }
  }

  // Decay goes by the rate without the shape's scale; modded-nanogpt's by the product of both.
  void move(at::Tensor& w, const at::Tensor& o, double rate, double schedule) const {
    const double base = base_rate_ * schedule, scaled = rate * schedule;
    const double shrink =
        route_.weight_decay * (decay_ == "cautious_squared" ? base * scaled : base);
    weight_step(w, o, {scaled, shrink, decay_ != "decoupled"});
  }

  const Orthogonalization how_;
  const double base_rate_;
  const std::string decay_;
  MomentumStep form_;
  at::Tensor momentum_;
  int64_t* momentum_steps_ = nullptr;
  double shadow_beta2_ = 0;
  at::Tensor shadow_;  // mean squared gradient, for a planned switch to AdamW
  int64_t* shadow_steps_ = nullptr;
  std::vector<RowBlocks> blocks_;  // of a matrix
  NorMuon normuon_;
  std::vector<at::Tensor> statistics_;  // NorMuon's V for each of blocks_
};

}  // namespace

std::unique_ptr<UpdateRule> make_muon_rule(const OptimizerConfig& config, const Route& route,
                                           const at::Tensor& weight) {
  return std::make_unique<MuonRule>(config, route, weight);
}

}  // namespace draftlab

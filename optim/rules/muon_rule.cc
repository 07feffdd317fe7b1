#include "optim/rules/muon_rule.h"

#include <ATen/ATen.h>

#include "base/stopwatch.h"
#include "optim/orthogonalization.h"

namespace draftlab {

MuonRule::MuonRule(const OptimizerConfig& options, const Route& route, const at::Tensor& weight)
    : UpdateRule(options, route, weight),
      blocks_(weight.dim() == 2 ? row_blocks(route) : std::vector<RowBlocks>{}),
      how_(orthogonalization(options)),
      base_rate_(options.learning_rate()),
      shadow_beta2_(options.number("shadow_beta2")),
      decay_(options.has("decay") ? options.text("decay") : "decoupled"),
      form_{options.number("momentum"), options.text("momentum_form") == "accumulate",
            options.boolean("nesterov"), options.boolean("cautious")},
      momentum_(buffer(form_.accumulate ? "momentum_sum" : "momentum")),
      momentum_steps_(counter("momentum_steps")) {
  if (shadow_beta2_ > 0) {
    shadow_ = buffer("exp_avg_sq");
    shadow_steps_ = &counter("exp_avg_sq_steps");
  }
}

double MuonRule::cost() const {
  double cost = UpdateRule::cost();
  for (const RowBlocks& part : blocks_)
    cost += static_cast<double>(part.blocks) *
            orthogonalization_cost(part.rows, route_.shape[1], how_).actual_flops;
  return cost;
}

at::Tensor MuonRule::momentum(const at::Tensor& gradient, Scratch& scratch) {
  ++momentum_steps_;
  if (shadow_.defined()) {
    shadow_.mul_(shadow_beta2_).addcmul_(gradient, gradient, 1 - shadow_beta2_);
    ++*shadow_steps_;
  }
  at::Tensor u = scratch.like(gradient, 0);
  momentum_step(momentum_, gradient, u, form_);
  return u;
}

at::Tensor MuonRule::orthogonalized(const at::Tensor& x, Scratch& scratch,
                                    OrthogonalizationSample* sample) const {
  Stopwatch watch;
  const at::Tensor o = x.dim() == 1 ? newton_schulz_diagonal(x, how_)
                                    : orthogonalize(x, how_, scratch.orthogonalization);
  scratch.orthogonalization_seconds += watch.lap();
  if (sample != nullptr) {
    const bool batch = x.dim() == 3;
    *sample = {(batch ? x[0] : x).clone(), (batch ? o[0] : o).clone()};
  }
  return o;
}

// Decay goes by the rate without the shape's scale; modded-nanogpt's by the product of both.
void MuonRule::move(at::Tensor& weight, const at::Tensor& o, double rate, double schedule) const {
  const double base = base_rate_ * schedule, scaled = rate * schedule;
  const double shrink = route_.weight_decay * (decay_ == "cautious_squared" ? base * scaled : base);
  weight_step(weight, o, {scaled, shrink, decay_ != "decoupled"});
}

}  // namespace draftlab

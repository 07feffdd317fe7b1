#include <ATen/ATen.h>

#include "optim/update_rule.h"
#include "record/optimizers/options.h"

// An optimizer that draftlab does not have, in one file: signs of two mean gradients, a fast one
// and a slow one. Nothing of it is Muon's or AdamW's. new_optimizer_test and the programs that it
// runs have it, because the two tables at the end stand in for those of record/optimizers and
// optim/rules.

namespace draftlab {
namespace {

std::vector<Buffer> buffers(const OptimizerConfig& options, const Route& route) {
  return {mean_gradient("fast_mean", route, options.number("fast_beta")),
          mean_gradient("slow_mean", route, options.number("slow_beta"))};
}

OptimizerKind sign_pair_kind() {
  using namespace optimizers;
  return {.name = "sign_pair",
          .summary = "signs of a fast and of a slow mean gradient, on matrices; AdamW on the rest",
          .source = "made up for tests",
          .formula =
              "F <- f F + (1 - f) G, S <- s S + (1 - s) G\n"
              "W <- W (1 - eta lambda) - eta (sign(F) + sign(S)) / 2",
          .options =
              joined({{learning_rate(1e-3), beta("fast_beta", 0.9, "fast mean gradient"),
                       beta("slow_beta", 0.99, "slow mean gradient"), weight_decay(0.0), qk_clip()},
                      partner()}),
          .buffers = buffers,
          .needs_finite_gradients = false};
}

class SignPair : public UpdateRule {
 public:
  SignPair(const OptimizerConfig& options, const Route& route, const at::Tensor& weight)
      : UpdateRule(options, route, weight),
        fast_beta_(options.number("fast_beta")),
        slow_beta_(options.number("slow_beta")),
        fast_(buffer("fast_mean")),
        slow_(buffer("slow_mean")),
        fast_steps_(counter("fast_mean_steps")),
        slow_steps_(counter("slow_mean_steps")) {}

  void step(at::Tensor& weight, const at::Tensor& gradient, double schedule, Scratch& scratch,
            OrthogonalizationSample*) override {
    const double rate = route_.learning_rates[0] * schedule;
    ++fast_steps_, ++slow_steps_;
    fast_.lerp_(gradient, 1 - fast_beta_);  // [m, n]
    slow_.lerp_(gradient, 1 - slow_beta_);  // [m, n]
    at::Tensor f = scratch.like(weight, 0), s = scratch.like(weight, 1);
    at::sign_out(f, fast_);
    at::sign_out(s, slow_);
    weight.mul_(1 - rate * route_.weight_decay).sub_(f.add_(s), rate / 2);
  }

 private:
  const double fast_beta_, slow_beta_;
  at::Tensor &fast_, &slow_;
  int64_t &fast_steps_, &slow_steps_;
};

std::unique_ptr<UpdateRule> sign_pair(const OptimizerConfig& options, const Route& route,
                                      const at::Tensor& weight) {
  return std::make_unique<SignPair>(options, route, weight);
}

}  // namespace

namespace optimizers {

OptimizerKind adamw(), muon();

}  // namespace optimizers

const std::vector<OptimizerKind>& optimizer_kinds() {
  static const std::vector<OptimizerKind> kinds = {optimizers::adamw(), optimizers::muon(),
                                                   sign_pair_kind()};
  return kinds;
}

namespace rules {

UpdateRuleMaker adamw, muon;

}  // namespace rules

const std::map<std::string, UpdateRuleMaker*>& update_rules() {
  static const std::map<std::string, UpdateRuleMaker*> table = {
      {"adamw", rules::adamw}, {"muon", rules::muon}, {"sign_pair", sign_pair}};
  return table;
}

}  // namespace draftlab

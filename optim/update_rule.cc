#include "optim/update_rule.h"

#include <ATen/ATen.h>

#include <utility>

#include "base/error.h"
#include "kernels/adamw_step.h"
#include "optim/muon.h"

namespace draftlab {
namespace {

class AdamWRule : public UpdateRule {
 public:
  AdamWRule(const OptimizerConfig& config, const Route& route, at::Tensor weight)
      : UpdateRule(route, std::move(weight)),
        m_(add_state("exp_avg", weight_.sizes())),
        v_(add_state("exp_avg_sq", weight_.sizes())) {
    // AdamW's options are nested where it is only the partner.
    const std::string prefix = config.kind == "adamw" ? "" : "adamw.";
    constants_.beta1 = config.number(prefix + "beta1");
    constants_.beta2 = config.number(prefix + "beta2");
    constants_.epsilon = config.number(prefix + "epsilon");
    constants_.weight_decay = route.weight_decay;
  }

  void step(const at::Tensor& gradient, double schedule, int64_t t, Workspace&) override {
    AdamWStep step = constants_;
    step.learning_rate = route_.learning_rate * schedule;
    step.t = t;
    adamw_step(weight_, gradient, m_, v_, step);
  }

 private:
  at::Tensor &m_, &v_;
  AdamWStep constants_;
};

// Muon, Turbo-Muon and NorMuon.
class MuonRule : public UpdateRule {
 public:
  MuonRule(const OptimizerConfig& config, const Route& route, at::Tensor weight)
      : UpdateRule(route, std::move(weight)),
        momentum_(add_state("momentum", weight_.sizes())),
        base_rate_(config.learning_rate()) {
    options_.momentum = config.number("momentum");
    options_.nesterov = config.boolean("nesterov");
    options_.orthogonalization = {
        route.rule == "turbo_muon" ? Method::kTurbo : Method::kNewtonSchulz,
        config.integer("steps"),
        config.text("epsilon") == "scale_free" ? Normalization::kScaleFree
                                               : Normalization::kPlusEpsilon};
    if (route.rule == "normuon") {
      row_mean_square_ = &add_state("row_mean_square", {weight_.size(0), 1});
      beta2_ = config.number("beta2");
    }
  }

  void step(const at::Tensor& gradient, double schedule, int64_t, Workspace& workspace) override {
    const at::Tensor direction = row_mean_square_ == nullptr
                                     ? muon_direction(gradient, momentum_, options_, workspace)
                                     : normuon_direction(gradient, momentum_, *row_mean_square_,
                                                         beta2_, options_, workspace);
    muon_update(weight_, direction, route_.learning_rate * schedule,
                1 - base_rate_ * schedule * route_.weight_decay);
  }

 private:
  at::Tensor& momentum_;
  at::Tensor* row_mean_square_ = nullptr;  // NorMuon's
  double beta2_ = 0;
  double base_rate_;
  MuonOptions options_;
};

}  // namespace

at::Tensor& UpdateRule::add_state(const std::string& buffer, at::IntArrayRef shape) {
  return state_[buffer] = at::zeros(shape, weight_.options().requires_grad(false));
}

std::unique_ptr<UpdateRule> make_update_rule(const OptimizerConfig& config, const Route& route,
                                             at::Tensor weight) {
  if (route.rule == "adamw") return std::make_unique<AdamWRule>(config, route, std::move(weight));
  if (route.rule != optimizer_kind(config.kind, "optimizer").matrix_rule) {
    throw Error(route.name,
                "has the update rule '" + route.rule + "', which is not one of " + config.kind);
  }
  if (weight.dim() != 2)
    throw Error(route.name, "is no matrix, and " + route.rule + " updates matrices only");
  return std::make_unique<MuonRule>(config, route, std::move(weight));
}

}  // namespace draftlab

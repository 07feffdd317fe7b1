#include "kernels/adamw_step.h"
#include "optim/update_rule.h"

namespace draftlab::rules {
namespace {

class AdamW : public UpdateRule {
 public:
  AdamW(const OptimizerConfig& options, const Route& route, const at::Tensor& weight)
      : UpdateRule(options, route, weight),
        m_(buffer("exp_avg")),
        v_(buffer("exp_avg_sq")),
        m_steps_(counter("exp_avg_steps")),
        v_steps_(counter("exp_avg_sq_steps")) {
    constants_.beta1 = options.number("beta1");
    constants_.beta2 = options.number("beta2");
    constants_.epsilon = options.number("epsilon");
    constants_.weight_decay = route.weight_decay;
    // Options that AdamW does not have where it is only the partner.
    constants_.cautious_decay = options.has("decay") && options.text("decay") == "cautious";
    constants_.cautious = options.has("cautious") && options.boolean("cautious");
  }

  void step(at::Tensor& weight, const at::Tensor& gradient, double schedule, Scratch&,
            OrthogonalizationSample*) override {
    AdamWStep step = constants_;
    step.learning_rate = route_.learning_rates[0] * schedule;
    step.m_steps = ++m_steps_;
    step.v_steps = ++v_steps_;
    adamw_step(weight, gradient, m_, v_, step);  // all of the weight's shape
  }

 private:
  at::Tensor &m_, &v_;
  int64_t &m_steps_, &v_steps_;
  AdamWStep constants_;
};

}  // namespace

std::unique_ptr<UpdateRule> adamw(const OptimizerConfig& options, const Route& route,
                                  const at::Tensor& weight) {
  return std::make_unique<AdamW>(options, route, weight);
}

}  // namespace draftlab::rules

#include "kernels/adam_mini_step.h"
#include "optim/update_rule.h"

namespace draftlab::rules {
namespace {

class AdamMini : public UpdateRule {
 public:
  AdamMini(const OptimizerConfig& options, const Route& route, const at::Tensor& weight)
      : UpdateRule(options, route, weight),
        m_(buffer("exp_avg")),
        v_(buffer("exp_avg_sq")),
        m_steps_(counter("exp_avg_steps")),
        v_steps_(counter("exp_avg_sq_steps")) {
    constants_.beta1 = options.number("beta1");
    constants_.beta2 = options.number("beta2");
    constants_.epsilon = options.number("epsilon");
    constants_.weight_decay = route.weight_decay;
    for (const Buffer& each : kind().buffers(options, route))
      if (each.name == "exp_avg_sq") blocks_ = each.blocks;
  }

  void step(at::Tensor& weight, const at::Tensor& gradient, double schedule, Scratch&,
            OrthogonalizationSample*) override {
    AdamWStep step = constants_;
    step.learning_rate = route_.learning_rates[0] * schedule;
    step.m_steps = ++m_steps_;
    step.v_steps = ++v_steps_;
    adam_mini_step(weight, gradient, m_, v_, blocks_, step);  // M like W, V: a number a block
  }

 private:
  at::Tensor &m_, &v_;
  int64_t &m_steps_, &v_steps_;
  AdamWStep constants_;
  std::vector<int64_t> blocks_;  // in entries
};

}  // namespace

std::unique_ptr<UpdateRule> adam_mini(const OptimizerConfig& options, const Route& route,
                                      const at::Tensor& weight) {
  return std::make_unique<AdamMini>(options, route, weight);
}

}  // namespace draftlab::rules

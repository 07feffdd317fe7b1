#include "kernels/lion_step.h"
#include "optim/update_rule.h"

namespace draftlab::rules {
namespace {

class Lion : public UpdateRule {
 public:
  Lion(const OptimizerConfig& options, const Route& route, const at::Tensor& weight)
      : UpdateRule(options, route, weight),
        m_(buffer("exp_avg")),
        m_steps_(counter("exp_avg_steps")) {
    constants_.beta1 = options.number("beta1");
    constants_.beta2 = options.number("beta2");
    constants_.weight_decay = route.weight_decay;
    constants_.cautious_decay = options.text("decay") == "cautious";
    constants_.cautious = options.boolean("cautious");
  }

  void step(at::Tensor& weight, const at::Tensor& gradient, double schedule, Scratch&,
            OrthogonalizationSample*) override {
    LionStep step = constants_;
    step.learning_rate = route_.learning_rates[0] * schedule;
    ++m_steps_;
    lion_step(weight, gradient, m_, step);  // all of the weight's shape
  }

 private:
  at::Tensor& m_;
  int64_t& m_steps_;
  LionStep constants_;
};

}  // namespace

std::unique_ptr<UpdateRule> lion(const OptimizerConfig& options, const Route& route,
                                 const at::Tensor& weight) {
  return std::make_unique<Lion>(options, route, weight);
}

}  // namespace draftlab::rules

#include <ATen/ATen.h>

#include <numeric>

#include "base/error.h"
#include "kernels/adam_mini_step.h"
#include "kernels/adamw_step.h"
#include "kernels/lion_step.h"
#include "optim/update_rule.h"

// AdamW, Adam-mini and Lion: passes over memory.

namespace draftlab {
namespace {

bool chosen(const OptimizerConfig& config, const std::string& key, const std::string& value) {
  return config.has(key) && config.text(key) == value;
}

// AdamW, and Adam-mini, whose second moment has one number a block.
class AdamRule : public UpdateRule {
 public:
  AdamRule(const OptimizerConfig& config, const Route& route, const at::Tensor& weight)
      : UpdateRule(route, weight),
        m_(add_state("exp_avg", weight.sizes())),
        m_steps_(add_counter("exp_avg_steps")),
        v_steps_(add_counter("exp_avg_sq_steps")) {
    // The options of AdamW are nested where it is only the partner.
    const std::string prefix = route.rule == "adamw" ? config.adamw_prefix() : "";
    constants_.beta1 = config.number(prefix + "beta1");
    constants_.beta2 = config.number(prefix + "beta2");
    constants_.epsilon = config.number(prefix + "epsilon");
    constants_.weight_decay = route.weight_decay;
    constants_.cautious_decay = chosen(config, prefix + "decay", "cautious");
    constants_.cautious = config.has(prefix + "cautious") && config.boolean(prefix + "cautious");
    if (route.rule == "adam_mini") blocks_ = adam_mini_blocks(route);
    v_ = blocks_.empty() ? add_state("exp_avg_sq", weight.sizes())
                         : add_state("exp_avg_sq", {static_cast<int64_t>(blocks_.size())});
  }

  void step(at::Tensor& weight, const at::Tensor& gradient, double schedule, Scratch&,
            OrthogonalizationSample*) override {
    AdamWStep step = constants_;
    step.learning_rate = route_.learning_rates[0] * schedule;
    step.m_steps = ++m_steps_;
    step.v_steps = ++v_steps_;
    if (blocks_.empty()) {
      adamw_step(weight, gradient, m_, v_, step);
    } else {
      adam_mini_step(weight, gradient, m_, v_, blocks_, step);
    }
  }

 private:
  at::Tensor &m_, v_;
  int64_t &m_steps_, &v_steps_;
  AdamWStep constants_;
  std::vector<int64_t> blocks_;  // Adam-mini's, in entries
};

class LionRule : public UpdateRule {
 public:
  LionRule(const OptimizerConfig& config, const Route& route, const at::Tensor& weight)
      : UpdateRule(route, weight),
        m_(add_state("exp_avg", weight.sizes())),
        m_steps_(add_counter("exp_avg_steps")) {
    constants_.beta1 = config.number("beta1");
    constants_.beta2 = config.number("beta2");
    constants_.weight_decay = route.weight_decay;
    constants_.cautious_decay = chosen(config, "decay", "cautious");
    constants_.cautious = config.boolean("cautious");
  }

  void step(at::Tensor& weight, const at::Tensor& gradient, double schedule, Scratch&,
            OrthogonalizationSample*) override {
    LionStep step = constants_;
    step.learning_rate = route_.learning_rates[0] * schedule;
    ++m_steps_;
    lion_step(weight, gradient, m_, step);
  }

 private:
  at::Tensor& m_;
  int64_t& m_steps_;  // nothing is corrected by it, but a successor of Lion may have to
  LionStep constants_;
};

}  // namespace

std::vector<int64_t> adam_mini_blocks(const Route& route) {
  if (route.shape.size() < 2)
    return {
        std::accumulate(route.shape.begin(), route.shape.end(), int64_t{1}, std::multiplies<>())};
  const int64_t row =
      std::accumulate(route.shape.begin() + 1, route.shape.end(), int64_t{1}, std::multiplies<>());
  if (route.split.size() == 1) return std::vector<int64_t>(route.shape[0], row);
  std::vector<int64_t> blocks;
  for (const int64_t rows : route.split) blocks.push_back(rows * row);
  return blocks;
}

std::unique_ptr<UpdateRule> make_adam_rule(const OptimizerConfig& config, const Route& route,
                                           const at::Tensor& weight) {
  if (route.rule == "lion") return std::make_unique<LionRule>(config, route, weight);
  return std::make_unique<AdamRule>(config, route, weight);
}

}  // namespace draftlab

#include "record/optimizers/options.h"

namespace draftlab::optimizers {

Options joined(std::initializer_list<Options> parts) {
  Options all;
  for (const Options& part : parts) all.insert(all.end(), part.begin(), part.end());
  return all;
}

OptimizerOption learning_rate(double fallback) {
  return {"learning_rate", fallback, 0, 10, {}, "base rate; the schedule multiplies it"};
}

OptimizerOption beta(const std::string& key, double fallback, const std::string& of) {
  return {key, fallback, 0, kLargestDecayRate, {}, "decay of the " + of};
}

OptimizerOption epsilon(double fallback) {
  return {"epsilon", fallback, 1e-30, 1, {}, "added to the root of the mean squared gradient"};
}

OptimizerOption weight_decay(double fallback) {
  return {"weight_decay",
          fallback,
          0,
          10,
          {},
          "decoupled: w *= 1 - rate * weight_decay, whatever the scale"};
}

OptimizerOption decay(std::vector<std::string> choices) {
  return {
      "decay",
      "decoupled",
      0,
      0,
      std::move(choices),
      "decoupled: every entry decays; cautious: only entries that the update shrinks anyway (arXiv "
      "2510.12402)"};
}

OptimizerOption cautious_update() {
  return {
      "cautious", false,
      0,          0,
      {},         "drop entries of the update whose sign is not the gradient's (arXiv 2411.16085)"};
}

OptimizerOption precondition_every(const std::string& meaning) {
  return {"precondition_every", int64_t{10}, 1, 1e6, {}, meaning};
}

OptimizerOption qk_clip() {
  return {"qk_clip",
          0.0,
          0,
          1e6,
          {},
          "after a step, scale queries and keys down where an attention logit was above this (Kimi "
          "K2); 0: off"};
}

Options partner(double rate, double beta1, double beta2, double floor, double decay_rate) {
  Options options = {learning_rate(rate), beta("beta1", beta1, "mean gradient"),
                     beta("beta2", beta2, "mean squared gradient"), epsilon(floor),
                     weight_decay(decay_rate)};
  for (OptimizerOption& option : options) option.key = "adamw." + option.key;
  return options;
}

Defaults partner_preset(double rate, double beta2, double decay_rate) {
  return {{"adamw.learning_rate", rate},
          {"adamw.beta2", beta2},
          {"adamw.epsilon", 1e-8},
          {"adamw.weight_decay", decay_rate}};
}

OptimizerPreset convention(const std::string& name, const std::string& summary,
                           std::initializer_list<Defaults> parts) {
  OptimizerPreset preset{"convention", name, {}, summary};
  for (const Defaults& part : parts)
    preset.defaults.insert(preset.defaults.end(), part.begin(), part.end());
  return preset;
}

}  // namespace draftlab::optimizers

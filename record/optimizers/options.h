#pragma once

#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

#include "record/optimizer_kind.h"

namespace draftlab::optimizers {

// Options that several optimizers have, with their ranges and meanings.

// Below 1, so that a bias correction 1 - beta^t is never 0.
constexpr double kLargestDecayRate = 0.999999;

using Options = std::vector<OptimizerOption>;
using Presets = std::vector<OptimizerPreset>;
using Defaults = std::vector<std::pair<std::string, Json>>;

Options joined(std::initializer_list<Options> parts);

OptimizerOption learning_rate(double fallback);
OptimizerOption beta(const std::string& key, double fallback, const std::string& of);
OptimizerOption epsilon(double fallback);
OptimizerOption weight_decay(double fallback);
// "decay": "decoupled" by default. "cautious_squared" is modded-nanogpt's.
OptimizerOption decay(std::vector<std::string> choices = {"decoupled", "cautious"});
OptimizerOption cautious_update();
OptimizerOption precondition_every(const std::string& meaning);
OptimizerOption qk_clip();

// Of the AdamW that is left with the tensors an optimizer does not take: "adamw.learning_rate", ...
Options partner(double rate = 3e-4, double beta1 = 0.9, double beta2 = 0.95, double floor = 1e-10,
                double decay_rate = 0);
Defaults partner_preset(double rate, double beta2, double decay_rate);

// The value "convention": `name` and the defaults that it changes.
OptimizerPreset convention(const std::string& name, const std::string& summary,
                           std::initializer_list<Defaults> parts);

}  // namespace draftlab::optimizers

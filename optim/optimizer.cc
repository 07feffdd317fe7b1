#include "optim/optimizer.h"

#include <ATen/ATen.h>
#include <c10/core/GradMode.h>

#include <sstream>

#include "base/error.h"
#include "optim/update_rule.h"

namespace draftlab {
namespace {

std::string shape_text(at::IntArrayRef shape) {
  std::ostringstream text;
  text << shape;
  return text.str();
}

}  // namespace

Optimizer::Optimizer(const OptimizerConfig& config, const std::vector<Route>& table,
                     NamedTensors parameters) {
  for (const Route& route : table) {
    const auto found = parameters.find(route.name);
    if (found == parameters.end())
      throw Error(route.name, "is in the routing table, but the drafter has no such weight");
    const at::Tensor weight = found->second;
    parameters.erase(found);
    if (weight.sizes() != at::IntArrayRef(route.shape)) {
      throw Error(route.name, "has shape " + shape_text(weight.sizes()) + ", and " +
                                  shape_text(route.shape) + " in the routing table");
    }
    if (weight.scalar_type() != at::kFloat && weight.scalar_type() != at::kDouble) {
      throw Error(route.name, "must be float32 or float64 to be trained");
    }
    if (route.rule != "frozen") rules_.push_back(make_update_rule(config, route, weight));
  }
  if (!parameters.empty()) throw Error(parameters.begin()->first, "is not in the routing table");
}

Optimizer::~Optimizer() = default;

void Optimizer::step(const NamedTensors& gradients, double schedule) {
  std::vector<const at::Tensor*> in_order;
  for (const auto& rule : rules_) {
    const auto found = gradients.find(rule->route().name);
    if (found == gradients.end() || found->second.sizes() != rule->weight().sizes()) {
      throw Error(rule->route().name, "has no gradient of its shape");
    }
    in_order.push_back(&found->second);
  }
  const c10::NoGradGuard no_grad;
  ++steps_;
  for (size_t i = 0; i < rules_.size(); ++i)
    rules_[i]->step(*in_order[i], schedule, steps_, workspace_);
}

NamedTensors Optimizer::state() const {
  NamedTensors all = {{"step", at::scalar_tensor(steps_, at::kLong)}};
  for (const auto& rule : rules_) {
    for (const auto& [buffer, tensor] : rule->state())
      all[rule->route().name + "/" + buffer] = tensor;
  }
  return all;
}

void Optimizer::load_state(const NamedTensors& saved) {
  NamedTensors own = state();
  for (const auto& [name, tensor] : saved) {
    if (!own.contains(name))
      throw Error(name, "is no state of this optimizer; it was saved by another one");
  }
  for (const auto& [name, tensor] : own) {
    const auto found = saved.find(name);
    if (found == saved.end()) throw Error(name, "is missing in the saved optimizer state");
    if (found->second.sizes() != tensor.sizes() ||
        found->second.scalar_type() != tensor.scalar_type()) {
      throw Error(name, "has another shape or dtype in the saved optimizer state: " +
                            shape_text(found->second.sizes()) + " instead of " +
                            shape_text(tensor.sizes()) + ", " +
                            toString(found->second.scalar_type()) + " instead of " +
                            toString(tensor.scalar_type()));
    }
  }
  for (auto& [name, tensor] : own) tensor.copy_(saved.at(name));
  steps_ = own.at("step").item<int64_t>();
}

}  // namespace draftlab

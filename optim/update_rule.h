#pragma once

#include <ATen/core/Tensor.h>

#include <memory>

#include "kernels/named_tensors.h"
#include "kernels/orthogonalize.h"
#include "record/optimizer_config.h"
#include "record/routing.h"

namespace draftlab {

// One weight, how it is updated, and the state that takes. The mathematics is in
// kernels/adamw_step.h and optim/muon.h.
class UpdateRule {
 public:
  UpdateRule(const Route& route, at::Tensor weight) : route_(route), weight_(std::move(weight)) {}
  virtual ~UpdateRule() = default;

  // Update number t = 1, 2, ...; `schedule` multiplies the learning rate.
  virtual void step(const at::Tensor& gradient, double schedule, int64_t t,
                    Workspace& workspace) = 0;

  const Route& route() const { return route_; }
  const at::Tensor& weight() const { return weight_; }
  // By the name of the buffer, e.g. "momentum"; zeros at first.
  const NamedTensors& state() const { return state_; }

 protected:
  at::Tensor& add_state(const std::string& buffer, at::IntArrayRef shape);

  const Route route_;
  at::Tensor weight_;
  NamedTensors state_;
};

// The rule of a row of the table: "adamw", "muon", "normuon", "turbo_muon". Throws Error for
// another one, or one that the optimizer does not have.
std::unique_ptr<UpdateRule> make_update_rule(const OptimizerConfig& config, const Route& route,
                                             at::Tensor weight);

}  // namespace draftlab

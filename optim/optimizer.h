#pragma once

#include <memory>
#include <vector>

#include "kernels/named_tensors.h"
#include "record/optimizer_config.h"
#include "record/routing.h"

namespace draftlab {

// Applies the routing table to a drafter's weights. All state is float32 (float64 for float64 weights) and
// is made at construction, whatever gradients come. Deterministic.
class Optimizer {
 public:
  // `parameters` are updated in place by step(); the tensors must stay the same.
  Optimizer(const OptimizerConfig& config, const std::vector<Route>& table, NamedTensors parameters);
  ~Optimizer();

  // One update. Each tensor's rate is Route::learning_rate times `schedule` (a factor in [0, 1]).
  // Gradients are already clipped. REQUIRES: a gradient for every tensor that is not frozen.
  void step(const NamedTensors& gradients, double schedule);

  // Named "<parameter>/<buffer>", e.g. "fc.weight/momentum", plus "step" (int64 scalar). The tensors are
  // the live ones; save before the next step.
  NamedTensors state() const;
  // Throws Error unless names, shapes and dtypes are exactly those of state().
  void load_state(const NamedTensors& state);

 private:
  struct Rule;
  std::vector<std::unique_ptr<Rule>> rules_;
};

// Scales all gradients so that their global L2 norm is at most `max_norm` (SpecForge's rule: factor
// min(1, max_norm / (norm + 1e-6)), sum of squares in float64); max_norm 0 only measures. Returns the norm
// before clipping.
double clip_gradients(NamedTensors& gradients, double max_norm);

// Factor on the learning rate for step t = 0 .. steps-1: (t+1)/W while t < W = int(warmup * steps), then
// "cosine": (1 + cos(pi (t-W)/(steps-W)))/2, or "constant": 1 (SpecForge's schedule). Throws for t >= steps.
double schedule_factor(const std::string& schedule, double warmup, int64_t steps, int64_t t);

}  // namespace draftlab

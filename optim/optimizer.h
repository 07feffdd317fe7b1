#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "kernels/named_tensors.h"
#include "kernels/orthogonalize.h"
#include "record/optimizer_config.h"
#include "record/routing.h"

namespace draftlab {

class UpdateRule;

// Applies the routing table to a drafter's weights (docs/optimizers.md). All state is float32
// (float64 for float64 weights), is made at construction, whatever gradients come, and lives on the
// weights' device. Deterministic.
class Optimizer {
 public:
  // `parameters` are updated in place by step(); the tensors must stay the same. Throws Error
  // unless the table has exactly their names and shapes, and their dtype is float32 or float64.
  Optimizer(const OptimizerConfig& config, const std::vector<Route>& table,
            NamedTensors parameters);
  ~Optimizer();

  // One update. Each tensor's rate is Route::learning_rate times `schedule` (a factor in [0, 1]);
  // decoupled decay goes by the rate without the shape's scale. Gradients are already clipped.
  // Throws Error, before anything changes, unless there is a gradient of the right shape for every
  // tensor that is not frozen.
  void step(const NamedTensors& gradients, double schedule);

  // Named "<parameter>/<buffer>", e.g. "fc.weight/momentum", plus "step" (int64 scalar). The
  // tensors are the live ones; save before the next step.
  NamedTensors state() const;
  // Throws Error, before anything changes, unless names, shapes and dtypes are exactly those of
  // state().
  void load_state(const NamedTensors& state);

 private:
  // One per tensor that is not frozen, in the table's order.
  std::vector<std::unique_ptr<UpdateRule>> rules_;
  int64_t steps_ = 0;  // taken so far
  Workspace workspace_;
};

}  // namespace draftlab

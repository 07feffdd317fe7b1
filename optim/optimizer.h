#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "kernels/named_tensors.h"
#include "optim/distribution.h"
#include "record/metrics.h"
#include "record/optimizer_config.h"
#include "record/routing.h"

namespace draftlab {

class UpdateRule;
struct OrthogonalizationSample;
struct Scratch;

// Applies the routing table to a drafter's weights (docs/optimizers.md). All state is float32
// (float64 for float64 weights), is made at construction, whatever gradients come, and lives on the
// weights' device. Updates of 16-bit weights are computed in float32 and rounded once; what is
// below half a unit in the last place of a weight is lost. Tensors are updated on several threads
// side by side; bits depend on the number of threads and on nothing else.
class Optimizer {
 public:
  // `parameters` are updated in place by step(); the tensors must stay the same and be contiguous.
  // Two names may share one tensor, which is updated once, by the gradient of the name that the
  // table has first. Throws Error unless the table has exactly the names and shapes of
  // `parameters`, their dtype is float32, float64 or bfloat16, and names of one tensor have one
  // rule.
  Optimizer(const OptimizerConfig& config, const std::vector<Route>& table,
            NamedTensors parameters);
  ~Optimizer();

  // One update. Each tensor's rates are Route::learning_rates times `schedule` (a factor in
  // [0, 1]); decoupled decay goes by the rate without the shape's scale. Gradients are already
  // clipped. Throws Error, before anything changes, unless there is a gradient of the right shape
  // for every tensor that is not frozen, and one without NaN and infinity where the rule needs it;
  // others (AdamW, Lion) spread NaN to the weights, where it is seen.
  void step(const NamedTensors& gradients, double schedule);

  // step() with the same bits, and what it did to the weights: a row for each kind of tensor and
  // rule, in order, UpdateRow::step left 0. `seconds`: of the step alone.
  std::vector<UpdateRow> measured_step(const NamedTensors& gradients, double schedule,
                                       double& seconds);

  // Gives the rows of the last measured_step() the spectra of the weights and mean gradients as
  // they are now.
  void add_spectra(std::vector<UpdateRow>& rows) const;

  // Of the last step's wall-clock seconds those that went into orthogonalization, or into the new
  // bases and roots of SOAP and Shampoo. Of tensors that are updated one after the other the
  // time itself; of those side by side on several threads their wall-clock time multiplied by the
  // share of orthogonalization in the seconds of all threads together. On a GPU, whose kernels run
  // after their calls, only the time of the calls.
  double orthogonalization_seconds() const { return orthogonalization_seconds_; }

  // Named "<parameter>/<buffer>", e.g. "fc.weight/momentum": the buffers that each tensor's rule
  // declares (record/buffer.h), and their counters.
  // The tensors are the live ones; save before the next step.
  NamedTensors state() const;
  // Throws Error, before anything changes, unless names, shapes and dtypes are those of state().
  // The state of another optimizer is converted by optim/state_transfer.h.
  void load_state(const NamedTensors& state);

 private:
  std::vector<const at::Tensor*> in_order(const NamedTensors& gradients) const;
  // `samples`: one a rule, null where none is wanted; or empty.
  void update(const std::vector<const at::Tensor*>& gradients, double schedule,
              const std::vector<OrthogonalizationSample*>& samples);
  void update(size_t i, const at::Tensor& gradient, double schedule, Scratch& scratch,
              OrthogonalizationSample* sample);

  const OptimizerConfig config_;
  // One per tensor that is not frozen, in the table's order, and its weight.
  std::vector<std::unique_ptr<UpdateRule>> rules_;
  std::vector<at::Tensor> weights_;
  std::vector<std::pair<std::string, size_t>> tied_;  // further names, and the rule of the tensor
  std::vector<Scratch> scratch_;                      // one a thread
  Distribution distribution_;                         // of rules_, for that many threads
  double orthogonalization_seconds_ = 0;
};

}  // namespace draftlab

#pragma once

#include <ATen/core/Tensor.h>

#include <memory>
#include <vector>

#include "kernels/named_tensors.h"
#include "kernels/orthogonalize.h"
#include "record/optimizer_config.h"
#include "record/routing.h"

namespace draftlab {

// What the updates of one thread share: memory, which grows to the largest tensor and stays, and a
// count of seconds.
struct Scratch {
  Workspace orthogonalization;  // belongs to orthogonalize()
  Workspace matrices;           // slots 0 .. 3 for a rule, these two for the optimizer
  static constexpr size_t kWeight = 4, kGradient = 5;
  // Rules add what they spend on it: orthogonalization, or new bases and roots.
  double orthogonalization_seconds = 0;
};

// What a rule orthogonalized and what came out, of the tensor's first block; undefined where the
// rule does not orthogonalize.
struct OrthogonalizationSample {
  at::Tensor x, o;  // [m, n], or [d] for a vector taken as a diagonal matrix
};

// One tensor of the routing table, how it is updated, and the state that takes. The mathematics is
// in free functions: kernels/adamw_step.h and its neighbours, optim/normuon.h, soap.h, shampoo.h.
class UpdateRule {
 public:
  // `weight` tells the shape, device and dtype; state is float32, or float64 for float64 weights.
  UpdateRule(const Route& route, const at::Tensor& weight);
  virtual ~UpdateRule() = default;

  // One update of `weight` by `gradient`, both contiguous and of the dtype of like(). `schedule`
  // multiplies the learning rate. `sample` may be null.
  virtual void step(at::Tensor& weight, const at::Tensor& gradient, double schedule,
                    Scratch& scratch, OrthogonalizationSample* sample) = 0;

  // The work of one step in operations of matrix products, to share it out among threads: here that
  // of passes over memory, to which others add.
  virtual double cost() const;
  // Whether NaN in the gradient stops the rule. Other rules spread it to the weight.
  virtual bool needs_finite_gradient() const { return false; }

  const Route& route() const { return route_; }
  // An empty tensor with the state's dtype and device.
  const at::Tensor& like() const { return like_; }
  // By the name of the buffer, e.g. "momentum"; zeros at first.
  const NamedTensors& state() const { return state_; }

 protected:
  at::Tensor& add_state(const std::string& buffer, at::IntArrayRef shape);
  // Steps that a buffer averages over: an int64 scalar of the state, on the CPU.
  int64_t& add_counter(const std::string& buffer);

  const Route route_;

 private:
  const at::Tensor like_;
  NamedTensors state_;
};

// Consecutive row blocks of equal size, which are updated as one batch of matrices.
struct RowBlocks {
  int64_t first_row, blocks, rows;  // `rows` of each
  double learning_rate;
};
std::vector<RowBlocks> row_blocks(const Route& route);
// The part of `x` [m, n] that belongs to them: [rows, n] for one block, else [blocks, rows, n].
at::Tensor view_of(const at::Tensor& x, const RowBlocks& blocks);

// The rule of a row of the table. Throws Error for one that is unknown or not the optimizer's.
std::unique_ptr<UpdateRule> make_update_rule(const OptimizerConfig& config, const Route& route,
                                             const at::Tensor& weight);

// Its parts: "adamw", "lion", "adam_mini"; "muon", "normuon", "turbo_muon", "muon_all"; "soap",
// "shampoo".
std::unique_ptr<UpdateRule> make_adam_rule(const OptimizerConfig& config, const Route& route,
                                           const at::Tensor& weight);
std::unique_ptr<UpdateRule> make_muon_rule(const OptimizerConfig& config, const Route& route,
                                           const at::Tensor& weight);
std::unique_ptr<UpdateRule> make_preconditioned_rule(const OptimizerConfig& config,
                                                     const Route& route, const at::Tensor& weight);

// Adam-mini's blocks, in entries: those of a split, else each row of a matrix, else the whole.
std::vector<int64_t> adam_mini_blocks(const Route& route);

}  // namespace draftlab

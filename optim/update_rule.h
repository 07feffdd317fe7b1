#pragma once

#include <ATen/core/Tensor.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "kernels/named_tensors.h"
#include "kernels/orthogonalize.h"
#include "record/buffer.h"
#include "record/optimizer_kind.h"

namespace draftlab {

// What the updates of one thread share: memory, which grows to the largest tensor and stays, and a
// count of seconds.
struct Scratch {
  Workspace orthogonalization;  // belongs to orthogonalize()
  Workspace matrices;           // slots 0 .. 3 for a rule, these for what calls it
  static constexpr size_t kWeight = 4, kGradient = 5, kUpdate = 6;
  // Rules add what they spend on it: orthogonalization, or new bases and roots.
  double orthogonalization_seconds = 0;

  // Memory in the shape of `like`, with whatever was in it; slots 0 .. 3.
  at::Tensor like(const at::Tensor& like, size_t slot);
};

// What a rule orthogonalized and what came out, of the tensor's first block; undefined where the
// rule does not orthogonalize.
struct OrthogonalizationSample {
  at::Tensor x, o;  // [m, n], or [d] for a vector taken as a diagonal matrix
};

// One tensor of the routing table, how it is updated, and the state that takes. Each rule is a file
// of optim/rules, whose declaration is the file of that name in record/optimizers.
class UpdateRule {
 public:
  // `options` are the rule's own (rule_options()). `weight` tells the shape, device and dtype: the
  // state, which is float32, or float64 for float64 weights, has the tensors that the kind
  // declares, zeros at first.
  UpdateRule(const OptimizerConfig& options, const Route& route, const at::Tensor& weight);
  virtual ~UpdateRule() = default;

  // One update of `weight` by `gradient`, both contiguous and of the dtype of like(). `schedule`
  // multiplies the learning rate. `sample` may be null.
  virtual void step(at::Tensor& weight, const at::Tensor& gradient, double schedule,
                    Scratch& scratch, OrthogonalizationSample* sample) = 0;

  // The work of one step in operations of matrix products, to share it out among threads: here that
  // of passes over memory, to which others add.
  virtual double cost() const;

  const OptimizerKind& kind() const { return kind_; }
  const Route& route() const { return route_; }
  // An empty tensor with the state's dtype and device.
  const at::Tensor& like() const { return like_; }
  // By the name of the buffer, e.g. "momentum".
  virtual const NamedTensors& state() const { return state_; }

 protected:
  UpdateRule(const OptimizerKind& kind, const std::vector<Buffer>& kept, const Route& route,
             const at::Tensor& weight);

  // A declared buffer. Throws Error for a name that the kind does not declare.
  at::Tensor& buffer(const std::string& name);
  // A declared counter, to be incremented.
  int64_t& counter(const std::string& name);

  const Route route_;

 private:
  const OptimizerKind& kind_;
  const at::Tensor like_;
  NamedTensors state_;
};

// Zeros for each buffer and its counter, in the dtype and on the device of `like`; counters int64
// on the CPU.
NamedTensors zeros(const std::vector<Buffer>& kept, const at::TensorOptions& like);

// Consecutive row blocks of equal size, which are updated as one batch of matrices.
struct RowBlocks {
  int64_t first_row, blocks, rows;  // `rows` of each
  double learning_rate;
};
std::vector<RowBlocks> row_blocks(const Route& route);
// The part of `x` [m, n] that belongs to them: [rows, n] for one block, else [blocks, rows, n].
at::Tensor view_of(const at::Tensor& x, const RowBlocks& blocks);

// The rules, by the name of their kind (optim/rules/table.cc).
using UpdateRuleMaker = std::unique_ptr<UpdateRule>(const OptimizerConfig& options,
                                                    const Route& route, const at::Tensor& weight);
const std::map<std::string, UpdateRuleMaker*>& update_rules();

// The rule of a row of the table. Throws Error for one that is unknown or not the optimizer's.
std::unique_ptr<UpdateRule> make_update_rule(const OptimizerConfig& config, const Route& route,
                                             const at::Tensor& weight);

}  // namespace draftlab

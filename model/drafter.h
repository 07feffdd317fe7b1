#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "kernels/named_tensors.h"
#include "model/block_batch.h"
#include "model/block_loss.h"
#include "record/drafter_config.h"
#include "record/loss_config.h"

namespace draftlab {

// A DFlash 1 drafter (z-lab/dflash, SpecForge; docs/drafter.md): forward, and the gradients of the
// loss by hand, without autograd. float32 or float64 throughout, the dtype of `embedding`.
// Deterministic for a given number of threads. Buffers are kept between calls: after the first step
// of a shape, no large allocation.
class Drafter {
 public:
  // embedding [V, H]; head [V_d, H]: rows of the target's head in draft-vocabulary order. Neither
  // is trained.
  Drafter(const DrafterConfig& config, at::Tensor embedding, at::Tensor head,
          const LossConfig& loss = {});
  ~Drafter();
  const DrafterConfig& config() const;

  // Final normed hidden states [N*B, H] of all rows. `parameters` as parameter_shapes(config).
  at::Tensor forward(const NamedTensors& parameters, const BlockBatch& batch);

  // What every layer sees of the context: c [T, H] = norm(fc(taps)), taps [T, L_t*H]. Row by row,
  // so that decoding makes each once.
  at::Tensor context_rows(const NamedTensors& parameters, const at::Tensor& taps);
  // forward() of a batch whose `context` holds these rows instead of taps.
  at::Tensor forward_behind(const NamedTensors& parameters, const BlockBatch& batch);

  // The loss and its gradient for every parameter, written into `gradients` (made on first use,
  // reused after). A batch without a label leaves them as they are: has_gradient() is false.
  LossResult loss_and_gradients(const NamedTensors& parameters, const BlockBatch& batch,
                                NamedTensors& gradients);

  // For evaluation: the loss without gradients (NaN if no label is supervised), and each row's
  // top.k most likely ids.
  LossResult loss_and_top(const NamedTensors& parameters, const BlockBatch& batch, TopTokens& top);

  // Of the last forward pass: BlockLoss::expected_acceptance() of each row [N*B].
  std::vector<double> expected_acceptance(const BlockBatch& batch, const at::Tensor& whole_head);

  // Of the last forward pass: each layer's largest attention score by query head [nh], hd^-0.5
  // included; undefined for a layer without scores. What QK-clip looks at.
  std::vector<at::Tensor> largest_scores() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// float32 weights before training, drawn as ParameterShape says. A pure function
// of config and seed: each tensor has its own stream, so its values do not depend on the others.
NamedTensors initial_parameters(const DrafterConfig& config, int64_t seed);

}  // namespace draftlab

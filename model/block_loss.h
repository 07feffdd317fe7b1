#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "model/block_batch.h"
#include "record/loss_config.h"

namespace draftlab {

struct LossResult {
  double loss = 0;  // numerator / denominator, as LossConfig says; NaN without a label
  double numerator = 0;
  double denominator = 0;
  double cross_entropy = 0;  // sum(w CE) / sum(w) over the labels, whatever the loss, in nats
  int64_t labels = 0;        // supervised labels in the draft vocabulary, whatever the loss
  // Of loss_and_gradients(): until the loss is known, and with it its gradient for the last hidden
  // states, which the same kernel computes. The rest of the call is the backward pass.
  double forward_seconds = 0;

  // A batch without any label teaches nothing, whatever the loss: no gradient was written.
  bool has_gradient() const { return labels > 0; }
};

// A row's most likely draft-vocabulary ids, falling, of each of the M = N*B rows of a batch.
struct TopTokens {
  int64_t k = 0;
  std::vector<int64_t>
      ids;  // [M, k] ties: the lowest id first; -1 in slot 0 and past the vocabulary
  std::vector<double> log_probabilities;  // [M, k] in nats; -infinity beside an id of -1

  std::vector<int64_t> argmax() const;  // [M]
};

// The loss of a batch of blocks behind a frozen head (docs/drafter.md, "Loss"), and the measures
// that do not depend on which loss it is. `hidden` are the drafter's final normed states [N*B, H].
class BlockLoss {
 public:
  // head [V_d, H]: rows of the target's head in draft-vocabulary order.
  BlockLoss(const LossConfig& config, at::Tensor head);
  ~BlockLoss();

  // Without the hidden states: how many labels the batch has.
  static int64_t labels(const BlockBatch& batch);

  // The loss; its gradient [N*B, H] goes into d_hidden. The head is computed on the slots that
  // count alone. REQUIRES: labels(batch) > 0; target distributions in the batch where the loss
  // needs them.
  LossResult loss_and_gradient(const at::Tensor& hidden, const BlockBatch& batch,
                               const at::Tensor& d_hidden);

  // sum(w CE) / sum(w) over the labels (NaN without one), and the top.k most likely ids of each
  // row.
  LossResult cross_entropy_and_top(const at::Tensor& hidden, const BlockBatch& batch,
                                   TopTokens& top);

  // [N*B]: sum over the draft vocabulary of min(p, q), the probability that the target accepts what
  // the drafter samples for this slot; NaN where unsupervised. p are the target's probabilities
  // over its whole vocabulary: whole_head [V, H] is its head. REQUIRES: target distributions in the
  // batch.
  std::vector<double> expected_acceptance(const at::Tensor& hidden, const BlockBatch& batch,
                                          const at::Tensor& whole_head);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace draftlab

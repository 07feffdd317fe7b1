#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "decode/proposer.h"
#include "kernels/named_tensors.h"
#include "model/draft_vocabulary.h"
#include "model/drafter.h"
#include "target_model/frozen.h"

namespace draftlab {

// A trained DFlash drafter: one forward pass drafts a block's slots 1 .. B-1 from the anchor and
// the target's hidden states of what lies before it (z-lab/dflash's loop, one denoising pass).
class DrafterProposer : public Proposer {
 public:
  // weights: float32, as parameter_shapes(config). The vocabulary is the one that it was trained
  // with.
  // tree: nodes of the tree that a greedy draft is, the likeliest of the slots' 8 likeliest tokens
  // (model/draft_tree.h); 0: the chain of the likeliest ones.
  DrafterProposer(const DrafterConfig& config, NamedTensors weights, const FrozenTensors& target,
                  const DraftVocabulary& vocabulary, int64_t tree = 0);

  int64_t longest() const override { return config_.block_size - 1; }
  bool needs_taps() const override { return true; }
  void start(int64_t sequences) override;
  void observe(int64_t sequence, std::span<const int32_t> tokens, const at::Tensor& taps) override;
  Draft propose(int64_t sequence, int32_t anchor, double temperature, Random& random) override;

 private:
  Draft propose_tree(const at::Tensor& hidden) const;

  // Rows that were observed, with room behind them so that a new one seldom moves the others.
  struct Context {
    at::Tensor rows;  // [capacity, H] of Drafter::context_rows()
    int64_t length = 0;
  };

  DrafterConfig config_;
  NamedTensors weights_;
  DraftVocabulary vocabulary_;
  at::Tensor head_;  // [V_d, H]
  Drafter drafter_;
  int64_t tree_;
  std::vector<Context> contexts_;
};

}  // namespace draftlab

#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <span>
#include <vector>

#include "base/random.h"

namespace draftlab {

// Tokens that may follow a sequence, first to last; none: the target decodes its next one alone.
struct Draft {
  std::vector<int32_t> tokens;
  // [tokens, V] float32: of what each was drawn, over the target's vocabulary. Undefined where the
  // draft is one of certain tokens, as every greedy one.
  at::Tensor probabilities;
  // A tree of drafts: of each token the one before it that it follows, -1 for the anchor. Greedy
  // alone. Empty: each token follows the one before it.
  std::vector<int64_t> parents = {};
};

// What drafts: a trained drafter, a table of n-grams, nothing. It learns what the target has passed
// of each sequence of a batch, and proposes what may follow.
class Proposer {
 public:
  virtual ~Proposer() = default;
  // Tokens that it proposes at most; 0: none ever.
  virtual int64_t longest() const = 0;
  // Whether observe() wants the target's hidden states.
  virtual bool needs_taps() const = 0;
  // Forgets everything; so many sequences begin.
  virtual void start(int64_t sequences) = 0;
  // The target has passed these tokens of the sequence, behind those that it passed before. taps
  // [tokens, L_t*H] float32: its tapped layers' outputs in the order of the store, rounded to
  // bfloat16 as they are there; undefined where not wanted.
  virtual void observe(int64_t sequence, std::span<const int32_t> tokens,
                       const at::Tensor& taps) = 0;
  // What may follow `anchor`, the sequence's last token, which the target has chosen and not passed
  // yet. `temperature` 0: the likeliest; else drawn from `random`. A pure function of what was
  // observed of this sequence and its arguments.
  virtual Draft propose(int64_t sequence, int32_t anchor, double temperature, Random& random) = 0;
};

// Proposes nothing: plain decoding.
class NoProposer : public Proposer {
 public:
  int64_t longest() const override { return 0; }
  bool needs_taps() const override { return false; }
  void start(int64_t) override {}
  void observe(int64_t, std::span<const int32_t>, const at::Tensor&) override {}
  Draft propose(int64_t, int32_t, double, Random&) override { return {}; }
};

}  // namespace draftlab

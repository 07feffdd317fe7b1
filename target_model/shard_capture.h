#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "base/random.h"
#include "store/prompts.h"
#include "store/shard.h"
#include "store/specification.h"
#include "target_model/loop_detector.h"
#include "target_model/transformer.h"

namespace draftlab {

// Tokens of a shard that went through the target so far, and the seconds this took.
struct ShardProgress {
  int64_t prompt_tokens = 0, response_tokens = 0,
          unused_tokens = 0;  // unused: responses that ended early
  double prompt_seconds = 0, response_seconds = 0;
};

// Runs the prompts of one shard through the target and lets it answer, all sequences as one batch,
// keeping taps and greedy choices on the way. A pure function of the arguments: no other shard has
// any influence.
class ShardCapture {
 public:
  // `prompts` have token_ids; `first_index` is the place of the first in the specification (its
  // random stream).
  ShardCapture(Transformer& target, const StoreSpecification& specification,
               std::span<const Prompt> prompts, int64_t first_index);

  // `on_progress` is called after every forward pass. Throws Error if the target gives NaN, naming
  // the prompt.
  std::vector<StoredSequence> run(const std::function<void(const ShardProgress&)>& on_progress);

 private:
  struct Sequence {
    StoredSequence stored;  // taps and argmax have room for the longest response until the end
    Random random;
    LoopDetector loops;
    bool finished = false;
  };

  int64_t shared_prefix() const;
  void prefill();
  void respond();
  void run_rows(const std::vector<TokenRow>& rows);
  void choose_next(Sequence& sequence, const float* logits, int64_t greedy);
  bool is_last(const Sequence& sequence) const;
  void report();

  Transformer& target_;
  const StoreSpecification& specification_;
  int64_t tap_width_, final_width_;  // final: 0 where it is not kept
  std::vector<Sequence> sequences_;
  KeyValueCache cache_;
  ShardProgress progress_;
  std::function<void(const ShardProgress&)> on_progress_;
};

}  // namespace draftlab

#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "decode/proposer.h"
#include "store/prompts.h"
#include "target_model/transformer.h"

namespace draftlab {

struct DecodeOptions {
  int64_t max_tokens = 96;  // an answer ends here, or with the target's end-of-text token
  double temperature = 0;   // 0: greedy
  int64_t seed = 1;         // of the sampling; every prompt has streams of its own
  int64_t batch = 1;        // prompts that go through the target together
  int64_t first = 0;        // number of the first prompt, for its streams
};

// The answer to one prompt.
struct DecodedAnswer {
  std::vector<int32_t> tokens;  // an end-of-text token included
  // Of each pass of the target behind that over the prompt: tokens that it added to the answer, and
  // how many of them the proposer had drafted (all but one, where the answer did not end there).
  struct Pass {
    int64_t tokens = 0, drafted = 0;
  };
  std::vector<Pass> passes;
};

// Seconds on the wall.
struct DecodeSeconds {
  double prompt = 0;  // the target over the prompts
  double draft = 0;   // the proposer
  double verify = 0;  // the target over drafts
  double rest = 0;    // choosing, bookkeeping
  double decoding() const { return draft + verify + rest; }
};

// Speculative decoding of a target with whatever drafts: draft a block, pass it through the target
// at once with its keys and values kept, keep what the target would have said, go on behind it.
// With NoProposer it is plain decoding.
//
// Lossless: where the target's products are row-wise (Products::kRowwise) a row's bits do not
// depend on the rows beside it, so that a greedy answer is the plain one, token for token, whatever
// is proposed and in whatever batch; a sampled one has the target's distribution.
class Decoding {
 public:
  // taps: the target's layers that proposers see, as in a store's manifest.
  Decoding(Transformer& target, std::vector<int64_t> taps);

  // One answer a prompt, in order. Prompts have token_ids. `stop`: when it turns true, the answers
  // so far come back. Throws Error for a prompt that with its answer does not fit the target's
  // context, and where the target's logits are not finite; both name the prompt.
  std::vector<DecodedAnswer> answer(std::span<const Prompt> prompts, Proposer& proposer,
                                    const DecodeOptions& options, const std::atomic<bool>& stop);
  // Of all answers so far.
  const DecodeSeconds& seconds() const { return seconds_; }
  // Of each pass behind the prompts', drafting and choosing with it.
  const std::vector<double>& pass_seconds() const { return pass_seconds_; }

 private:
  struct Sequence;
  void answer_batch(std::span<const Prompt> prompts, int64_t first, Proposer& proposer,
                    const DecodeOptions& options, std::vector<DecodedAnswer>& answers);
  at::Tensor pass(KeyValueCache& cache, const std::vector<TokenRow>& rows, bool with_taps);

  Transformer& target_;
  std::vector<int64_t> taps_;
  at::Tensor tapped_;  // [R, L_t*H] of the last pass
  DecodeSeconds seconds_;
  std::vector<double> pass_seconds_;
};

}  // namespace draftlab

#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/random.h"
#include "decode/proposer.h"

namespace draftlab {

// What the target makes of a draft: it keeps the first `accepted` tokens and says the next itself.
struct Verdict {
  int64_t accepted = 0;
  int32_t next = 0;
};

// Greedy: a token is kept while it is the target's own choice. choices [tokens + 1]: the target's
// behind the anchor and behind each token.
Verdict verify_greedy(std::span<const int32_t> tokens, std::span<const int32_t> choices);

// The same of a tree of drafts: the path from the anchor whose every token is the target's choice
// behind the one before it, as indices of tokens. choices [tokens + 1]: behind the anchor, then
// behind each token. Of children that are the same token the first is followed.
std::vector<int64_t> accepted_path(std::span<const int32_t> tokens,
                                   std::span<const int64_t> parents,
                                   std::span<const int32_t> choices);

// p[i] = e^(x[i] / temperature) / sum, float32, size > 0. REQUIRES: temperature > 0.
void softmax(const float* x, int64_t size, double temperature, float* p);

// The first i for which the sum of p[0..i] exceeds u times the sum of all: one draw for u uniform
// in [0, 1). Never one of probability 0. REQUIRES: some p > 0.
int32_t draw(std::span<const float> p, double u);

// Speculative sampling (Leviathan et al. 2023, Chen et al. 2023): token i, drawn from q_i, is kept
// with probability min(1, p_i / q_i); the first that is not kept is replaced by a draw from
// max(p_i - q_i, 0), and behind the last one the target draws from p. What comes out has the
// target's distribution p, whatever q is. p [tokens + 1, V] float32 rows of the target; a draft
// without probabilities is one of certain tokens (q = 1).
Verdict verify_sampled(const Draft& draft, const float* p, int64_t vocab_size, Random& random);

}  // namespace draftlab

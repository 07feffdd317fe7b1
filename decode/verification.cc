#include "decode/verification.h"

#include <algorithm>
#include <cmath>

namespace draftlab {

Verdict verify_greedy(std::span<const int32_t> tokens, std::span<const int32_t> choices) {
  const auto differing = std::ranges::mismatch(tokens, choices).in1;
  const int64_t accepted = differing - tokens.begin();
  return {accepted, choices[accepted]};
}

std::vector<int64_t> accepted_path(std::span<const int32_t> tokens,
                                   std::span<const int64_t> parents,
                                   std::span<const int32_t> choices) {
  std::vector<int64_t> path;
  int64_t at = -1;
  for (int64_t i = 0; i < std::ssize(tokens); ++i) {
    if (parents[i] == at && tokens[i] == choices[at + 1]) path.push_back(at = i);
  }
  return path;
}

void softmax(const float* x, int64_t size, double temperature, float* p) {
  const float largest = *std::max_element(x, x + size);
  double sum = 0;
  for (int64_t i = 0; i < size; ++i) {
    p[i] = std::exp(static_cast<float>((x[i] - largest) / temperature));
    sum += p[i];
  }
  for (int64_t i = 0; i < size; ++i) p[i] = static_cast<float>(p[i] / sum);
}

int32_t draw(std::span<const float> p, double u) {
  double sum = 0;
  for (const float one : p) sum += one;
  double left = u * sum;
  int32_t last = 0;
  for (size_t i = 0; i < p.size(); ++i) {
    if (!(p[i] > 0)) continue;
    last = static_cast<int32_t>(i);
    if (left < p[i]) return last;
    left -= p[i];
  }
  return last;  // rounding: u was within an ulp of 1
}

Verdict verify_sampled(const Draft& draft, const float* p, int64_t vocab_size, Random& random) {
  const bool certain = !draft.probabilities.defined();
  for (size_t i = 0; i < draft.tokens.size(); ++i, p += vocab_size) {
    const int32_t token = draft.tokens[i];
    const float* q = certain ? nullptr
                             : draft.probabilities.const_data_ptr<float>() +
                                   static_cast<int64_t>(i) * vocab_size;
    const double of_token = certain ? 1 : q[token];
    if (random.uniform() * of_token < p[token]) continue;
    std::vector<float> residual(p, p + vocab_size);
    for (int64_t v = 0; v < vocab_size; ++v) {
      const float proposed = certain ? static_cast<float>(v == token) : q[v];
      residual[v] = std::max(residual[v] - proposed, 0.f);
    }
    return {static_cast<int64_t>(i), draw(residual, random.uniform())};
  }
  return {static_cast<int64_t>(draft.tokens.size()),
          draw({p, static_cast<size_t>(vocab_size)}, random.uniform())};
}

}  // namespace draftlab

#include "decode/decoding.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "base/stopwatch.h"
#include "decode/verification.h"
#include "target_model/decoder_loops.h"

namespace draftlab {
namespace {

constexpr int64_t kPromptRows = 512;  // of one pass over prompts

}  // namespace

struct Decoding::Sequence {
  const Prompt& prompt;
  int64_t index;     // in the cache
  int64_t position;  // of `anchor`
  int32_t anchor;    // the last token, which the target has chosen and not passed
  Random proposals, choices;
  Draft draft;
  DecodedAnswer answer;
  bool ended = false;
  std::vector<int64_t> path = {};  // of a tree: the drafted tokens that were kept
};

Decoding::Decoding(Transformer& target, std::vector<int64_t> taps)
    : target_(target), taps_(std::move(taps)) {}

// The target's hidden states [R, H] of these rows; tapped_ with them.
at::Tensor Decoding::pass(KeyValueCache& cache, const std::vector<TokenRow>& rows, bool with_taps) {
  if (!with_taps) return target_.forward(cache, rows);
  const int64_t width = target_.config().hidden_size, count = static_cast<int64_t>(rows.size());
  tapped_ = at::empty({count, static_cast<int64_t>(taps_.size()) * width}, at::kBFloat16);
  const at::Tensor hidden =
      target_.forward(cache, rows, [&](int64_t layer, const at::Tensor& output) {
        const auto tap = std::ranges::find(taps_, layer) - taps_.begin();
        if (tap == std::ssize(taps_)) return;
        tapped_.narrow(1, tap * width, width).copy_(output);
      });
  tapped_ = tapped_.to(at::kFloat);
  return hidden;
}

std::vector<DecodedAnswer> Decoding::answer(std::span<const Prompt> prompts, Proposer& proposer,
                                            const DecodeOptions& options,
                                            const std::atomic<bool>& stop) {
  for (const Prompt& prompt : prompts) {
    const auto longest = static_cast<int64_t>(prompt.token_ids.size()) + options.max_tokens;
    if (prompt.token_ids.empty() || longest > target_.config().context_length) {
      throw Error("prompt " + prompt.id,
                  "with an answer of " + std::to_string(options.max_tokens) + " tokens has " +
                      std::to_string(longest) + ", the target's context ends at " +
                      std::to_string(target_.config().context_length) + "; ask for fewer tokens");
    }
  }
  std::vector<DecodedAnswer> answers;
  for (size_t begin = 0; begin < prompts.size() && !stop; begin += options.batch) {
    const size_t size = std::min<size_t>(options.batch, prompts.size() - begin);
    answer_batch(prompts.subspan(begin, size), options.first + static_cast<int64_t>(begin),
                 proposer, options, answers);
  }
  return answers;
}

void Decoding::answer_batch(std::span<const Prompt> prompts, int64_t first, Proposer& proposer,
                            const DecodeOptions& options, std::vector<DecodedAnswer>& answers) {
  const int64_t vocab_size = target_.config().vocab_size;
  std::vector<Sequence> sequences;
  std::vector<int64_t> capacities;
  for (size_t i = 0; i < prompts.size(); ++i) {
    const auto index = static_cast<uint64_t>(first) + i;
    const auto length = static_cast<int64_t>(prompts[i].token_ids.size());
    sequences.push_back({prompts[i],
                         static_cast<int64_t>(i),
                         length - 1,
                         0,
                         Random(options.seed, "proposals", index),
                         Random(options.seed, "choices", index),
                         {},
                         {}});
    capacities.push_back(length + options.max_tokens + proposer.longest());
  }
  KeyValueCache cache(target_.config(), capacities);
  proposer.start(static_cast<int64_t>(prompts.size()));

  // Adds what the target says behind a row of `logits` [tokens + 1, V]; a prompt has no draft.
  std::vector<float> p;
  const auto choose = [&](Sequence& s, const float* logits) {
    const auto rows = static_cast<int64_t>(s.draft.tokens.size()) + 1;
    std::vector<int32_t> choices;
    for (int64_t r = 0; r < rows; ++r) {
      const float* row = logits + r * vocab_size;
      choices.push_back(static_cast<int32_t>(argmax(row, vocab_size)));
      if (!std::isfinite(row[choices.back()])) {
        throw Error("prompt " + s.prompt.id,
                    "the target's logits are not finite at position " +
                        std::to_string(s.position + (s.draft.parents.empty() ? r : 0)) +
                        "; its weights are damaged or do not fit its configuration");
      }
    }
    if (!s.draft.parents.empty()) {
      s.path = accepted_path(s.draft.tokens, s.draft.parents, choices);
      std::vector<int32_t> tokens;
      for (const int64_t i : s.path) tokens.push_back(s.draft.tokens[i]);
      s.draft = {.tokens = std::move(tokens)};
      return Verdict{std::ssize(s.path), choices[s.path.empty() ? 0 : s.path.back() + 1]};
    }
    if (options.temperature == 0) return verify_greedy(s.draft.tokens, choices);
    p.resize(rows * vocab_size);
    for (int64_t r = 0; r < rows; ++r)
      softmax(logits + r * vocab_size, vocab_size, options.temperature, p.data() + r * vocab_size);
    return verify_sampled(s.draft, p.data(), vocab_size, s.choices);
  };
  const auto add = [&](Sequence& s, const Verdict& verdict) {
    DecodedAnswer::Pass pass;
    for (int64_t i = 0; i <= verdict.accepted && !s.ended; ++i) {
      const int32_t token = i < verdict.accepted ? s.draft.tokens[i] : verdict.next;
      s.answer.tokens.push_back(token);
      ++pass.tokens;
      pass.drafted += i < verdict.accepted;
      s.ended = std::ssize(s.answer.tokens) == options.max_tokens ||
                std::ranges::count(target_.config().end_token_ids, token) > 0;
    }
    s.anchor = s.answer.tokens.back();
    s.position += verdict.accepted + 1;
    return pass;
  };

  // Prompts, in passes of whole prompts.
  Stopwatch watch;
  for (size_t begin = 0; begin < sequences.size();) {
    std::vector<TokenRow> rows;
    size_t end = begin;
    for (; end < sequences.size() && (rows.empty() || std::ssize(rows) < kPromptRows); ++end) {
      for (int64_t p = 0; p <= sequences[end].position; ++p)
        rows.push_back({static_cast<int64_t>(end), p, prompts[end].token_ids[p]});
    }
    const at::Tensor hidden = pass(cache, rows, proposer.needs_taps());
    int64_t row = 0;
    for (; begin < end; ++begin) {
      Sequence& s = sequences[begin];
      const auto length = static_cast<int64_t>(s.prompt.token_ids.size());
      proposer.observe(s.index, s.prompt.token_ids,
                       proposer.needs_taps() ? tapped_.narrow(0, row, length) : at::Tensor());
      const at::Tensor logits = target_.logits(hidden.narrow(0, row + length - 1, 1));
      add(s, choose(s, logits.const_data_ptr<float>()));
      row += length;
    }
  }
  seconds_.prompt += watch.lap();

  while (std::ranges::any_of(sequences, [](const Sequence& s) { return !s.ended; })) {
    const double before = seconds_.decoding();
    std::vector<TokenRow> rows;
    std::vector<Sequence*> at_work;
    for (Sequence& s : sequences) {
      if (s.ended) continue;
      at_work.push_back(&s);
      s.draft = proposer.propose(s.index, s.anchor, options.temperature, s.proposals);
      const auto root = std::ssize(rows);
      rows.push_back({s.index, s.position, s.anchor});
      for (int64_t i = 0; i < std::ssize(s.draft.tokens); ++i) {
        if (s.draft.parents.empty()) {
          rows.push_back({s.index, s.position + 1 + i, s.draft.tokens[i]});
        } else {
          const int64_t parent = root + 1 + s.draft.parents[i];
          rows.push_back({s.index, rows[parent].position + 1, s.draft.tokens[i], parent});
        }
      }
    }
    seconds_.draft += watch.lap();
    const at::Tensor logits = target_.logits(pass(cache, rows, proposer.needs_taps()));
    seconds_.verify += watch.lap();
    int64_t row = 0;
    for (Sequence* s : at_work) {
      const auto count = static_cast<int64_t>(s->draft.tokens.size()) + 1;
      const bool tree = !s->draft.parents.empty();
      const Verdict verdict = choose(*s, logits.const_data_ptr<float>() + row * vocab_size);
      std::vector<int32_t> passed = {s->anchor};
      passed.insert(passed.end(), s->draft.tokens.begin(),
                    s->draft.tokens.begin() + verdict.accepted);
      if (tree && !s->path.empty()) target_.keep_path(cache, rows, row + 1 + s->path.back());
      at::Tensor taps;
      if (proposer.needs_taps() && tree) {
        std::vector<int64_t> kept = {row};
        for (const int64_t i : s->path) kept.push_back(row + 1 + i);
        taps = tapped_.index_select(0, at::tensor(kept));
      } else if (proposer.needs_taps()) {
        taps = tapped_.narrow(0, row, std::ssize(passed));
      }
      proposer.observe(s->index, passed, taps);
      s->answer.passes.push_back(add(*s, verdict));
      row += count;
    }
    seconds_.rest += watch.lap();
    pass_seconds_.push_back(seconds_.decoding() - before);
  }
  for (Sequence& s : sequences) answers.push_back(std::move(s.answer));
}

}  // namespace draftlab

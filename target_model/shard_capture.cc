#include "target_model/shard_capture.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "base/stopwatch.h"
#include "target_model/decoder_loops.h"

namespace draftlab {
namespace {

// Rows of one forward pass over prompts, and of one product with the head: large enough for the
// matrix products, small enough for [rows, vocabulary] to stay near the cache.
constexpr int64_t kPrefillRows = 512, kLogitRows = 128;

std::vector<int64_t> capacities(const std::span<const Prompt> prompts, int64_t max_tokens) {
  std::vector<int64_t> lengths;
  for (const Prompt& prompt : prompts)
    lengths.push_back(static_cast<int64_t>(prompt.token_ids.size()) + max_tokens);
  return lengths;
}

}  // namespace

ShardCapture::ShardCapture(Transformer& target, const StoreSpecification& specification,
                           std::span<const Prompt> prompts, int64_t first_index)
    : target_(target),
      specification_(specification),
      tap_width_(static_cast<int64_t>(specification.taps.size()) * target.config().hidden_size),
      final_width_(specification.final_hidden ? target.config().hidden_size : 0),
      cache_(target.config(), capacities(prompts, specification.responses.max_tokens)) {
  for (size_t i = 0; i < prompts.size(); ++i) {
    const Prompt& prompt = prompts[i];
    const auto index = static_cast<uint64_t>(first_index) + i;
    Sequence sequence{{}, Random(specification.responses.seed, "response", index), {}, false};
    StoredSequence& s = sequence.stored;
    s.prompt_id = prompt.id;
    s.group = prompt.group;
    s.prompt_length = static_cast<int64_t>(prompt.token_ids.size());
    s.token_ids = prompt.token_ids;
    s.loss_mask.assign(prompt.token_ids.size(), 0);
    const int64_t room = s.prompt_length + specification.responses.max_tokens;
    s.target_argmax.resize(room);
    s.taps.resize(room * tap_width_);
    s.final_hidden.resize(room * final_width_);
    sequences_.push_back(std::move(sequence));
  }
}

std::vector<StoredSequence> ShardCapture::run(
    const std::function<void(const ShardProgress&)>& on_progress) {
  on_progress_ = on_progress;
  prefill();
  respond();
  std::vector<StoredSequence> stored;
  for (Sequence& sequence : sequences_) {
    StoredSequence& s = sequence.stored;
    s.target_argmax.resize(s.token_ids.size());
    s.taps.resize(s.token_ids.size() * tap_width_);
    s.final_hidden.resize(s.token_ids.size() * final_width_);
    stored.push_back(std::move(s));
  }
  return stored;
}

void ShardCapture::report() {
  if (on_progress_) on_progress_(progress_);
}

// How many tokens all prompts begin with together (a chat template's system line): they are run
// once. At least one token of each prompt is left, because its logits choose the response's first
// token.
int64_t ShardCapture::shared_prefix() const {
  const std::vector<int32_t>& first = sequences_.front().stored.token_ids;
  auto shared = static_cast<int64_t>(first.size());
  for (const Sequence& sequence : sequences_) {
    const std::vector<int32_t>& ids = sequence.stored.token_ids;
    const auto length = std::min(shared, static_cast<int64_t>(ids.size()) - 1);
    shared =
        std::mismatch(first.begin(), first.begin() + length, ids.begin()).first - first.begin();
  }
  return sequences_.size() > 1 ? shared : 0;
}

void ShardCapture::prefill() {
  const int64_t shared = shared_prefix();
  std::vector<TokenRow> rows;
  int64_t tokens = 0;
  const auto run = [&] {
    Stopwatch watch;
    run_rows(rows);
    progress_.prompt_seconds += watch.lap();
    rows.clear();
    progress_.prompt_tokens += std::exchange(tokens, 0);
    report();
  };
  if (shared > 0) {
    const StoredSequence& first = sequences_.front().stored;
    for (int64_t p = 0; p < shared; ++p) rows.push_back({0, p, first.token_ids[p]});
    run();
    Stopwatch watch;
    for (size_t i = 1; i < sequences_.size(); ++i) {
      cache_.copy_prefix(0, static_cast<int64_t>(i), shared);
      std::copy_n(first.taps.begin(), shared * tap_width_, sequences_[i].stored.taps.begin());
      std::copy_n(first.final_hidden.begin(), shared * final_width_,
                  sequences_[i].stored.final_hidden.begin());
      std::copy_n(first.target_argmax.begin(), shared, sequences_[i].stored.target_argmax.begin());
    }
    progress_.prompt_seconds += watch.lap();
  }
  for (size_t i = 0; i < sequences_.size(); ++i) {
    const StoredSequence& s = sequences_[i].stored;
    // Counted before the rows run: choosing the first response token makes token_ids longer.
    for (int64_t p = shared; p < s.prompt_length; ++p)
      rows.push_back({static_cast<int64_t>(i), p, s.token_ids[p]});
    tokens += s.prompt_length;
    if (static_cast<int64_t>(rows.size()) >= kPrefillRows || i + 1 == sequences_.size()) run();
  }
}

void ShardCapture::respond() {
  while (true) {
    std::vector<TokenRow> rows;
    for (size_t i = 0; i < sequences_.size(); ++i) {
      if (sequences_[i].finished) continue;
      const std::vector<int32_t>& ids = sequences_[i].stored.token_ids;
      rows.push_back({static_cast<int64_t>(i), static_cast<int64_t>(ids.size()) - 1, ids.back()});
    }
    if (rows.empty()) return;
    Stopwatch watch;
    run_rows(rows);
    progress_.response_seconds += watch.lap();
    progress_.response_tokens += static_cast<int64_t>(rows.size());
    report();
  }
}

// One forward pass: keeps taps and greedy choices of its rows and lets every sequence whose last
// token is among them choose its next one.
void ShardCapture::run_rows(const std::vector<TokenRow>& rows) {
  const int64_t width = target_.config().hidden_size;
  const std::vector<int64_t>& taps = specification_.taps;
  const at::Tensor hidden =
      target_.forward(cache_, rows, [&](int64_t layer, const at::Tensor& output) {
        const auto tap = std::find(taps.begin(), taps.end(), layer) - taps.begin();
        if (tap == static_cast<std::ptrdiff_t>(taps.size())) return;
        for (size_t r = 0; r < rows.size(); ++r) {
          uint16_t* out = sequences_[rows[r].sequence].stored.taps.data() +
                          rows[r].position * tap_width_ + tap * width;
          to_bf16(output.data_ptr<float>() + static_cast<int64_t>(r) * width, width, out);
        }
      });
  for (size_t r = 0; final_width_ > 0 && r < rows.size(); ++r) {
    to_bf16(
        hidden.data_ptr<float>() + static_cast<int64_t>(r) * width, width,
        sequences_[rows[r].sequence].stored.final_hidden.data() + rows[r].position * final_width_);
  }
  const auto count = static_cast<int64_t>(rows.size());
  for (int64_t begin = 0; begin < count; begin += kLogitRows) {
    const int64_t size = std::min(kLogitRows, count - begin);
    const at::Tensor logits = target_.logits(hidden.narrow(0, begin, size));
    const int64_t vocab_size = logits.size(1);
    const float* values = logits.data_ptr<float>();
    const auto row_logits = [&](int64_t r) { return values + r * vocab_size; };
    std::vector<int64_t> greedy(size);
    at::parallel_for(0, size, 1, [&](int64_t from, int64_t to) {
      for (int64_t r = from; r < to; ++r) greedy[r] = argmax(row_logits(r), vocab_size);
    });
    // In order, so that the same row is named whatever the threads do.
    std::vector<int64_t> last;  // rows whose sequences go on; each of another sequence
    for (int64_t r = 0; r < size; ++r) {
      const TokenRow& row = rows[begin + r];
      StoredSequence& stored = sequences_[row.sequence].stored;
      if (!std::isfinite(row_logits(r)[greedy[r]])) {
        throw Error("prompt " + stored.prompt_id,
                    "the target's logits are not finite at position " +
                        std::to_string(row.position) +
                        "; its weights are damaged or do not fit its configuration");
      }
      stored.target_argmax[row.position] = static_cast<int32_t>(greedy[r]);
      if (row.position + 1 == static_cast<int64_t>(stored.token_ids.size())) last.push_back(r);
    }
    at::parallel_for(0, static_cast<int64_t>(last.size()), 1, [&](int64_t from, int64_t to) {
      for (int64_t i = from; i < to; ++i) {
        const int64_t r = last[i];
        choose_next(sequences_[rows[begin + r].sequence], row_logits(r), greedy[r]);
      }
    });
  }
  progress_.unused_tokens = 0;
  for (const Sequence& sequence : sequences_) {
    if (!sequence.finished) continue;
    progress_.unused_tokens += sequence.stored.prompt_length + specification_.responses.max_tokens -
                               static_cast<int64_t>(sequence.stored.token_ids.size());
  }
}

bool ShardCapture::is_last(const Sequence& sequence) const {
  const StoredSequence& s = sequence.stored;
  const auto length = static_cast<int64_t>(s.token_ids.size());
  if (length == s.prompt_length) return false;
  const std::vector<int64_t>& ends = target_.config().end_token_ids;
  return length - s.prompt_length == specification_.responses.max_tokens ||
         std::find(ends.begin(), ends.end(), s.token_ids.back()) != ends.end();
}

void ShardCapture::choose_next(Sequence& sequence, const float* logits, int64_t greedy) {
  if (is_last(sequence)) {
    sequence.finished = true;
    return;
  }
  const ResponseOptions& options = specification_.responses;
  StoredSequence& s = sequence.stored;
  const int64_t next = options.temperature == 0
                           ? greedy
                           : sample(logits, target_.config().vocab_size, logits[greedy],
                                    options.temperature, sequence.random.uniform());
  s.token_ids.push_back(static_cast<int32_t>(next));
  s.loss_mask.push_back(1);
  if (!options.cut_loops) return;
  if (const std::optional<int64_t> kept = sequence.loops.add(static_cast<int32_t>(next))) {
    // All that is kept went through the target already.
    s.token_ids.resize(s.prompt_length + *kept);
    s.loss_mask.resize(s.token_ids.size());
    s.looped = true;
    sequence.finished = true;
  }
}

}  // namespace draftlab

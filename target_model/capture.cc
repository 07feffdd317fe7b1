#include "target_model/capture.h"

#include <ATen/Parallel.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <ostream>

#include "base/error.h"
#include "base/number_text.h"
#include "store/file_hash.h"
#include "store/prompts.h"
#include "store/writer.h"
#include "target_model/checkpoint.h"
#include "target_model/shard_capture.h"
#include "target_model/tokenized_prompts.h"
#include "target_model/transformer.h"

namespace draftlab {
namespace {

namespace fs = std::filesystem;

std::string responses_text(const ResponseOptions& options) {
  std::string text = options.temperature == 0 ? "greedy"
                                              : "temperature " + number_text(options.temperature) +
                                                    " seed " + std::to_string(options.seed);
  return text + ", at most " + std::to_string(options.max_tokens) + " tokens" +
         (options.cut_loops ? ", loops cut" : ", loops kept");
}

StoreManifest manifest_header(const StoreSpecification& specification,
                              const TargetCheckpoint& target, const std::string& tokenizer_sha256) {
  const TransformerConfig& config = target.config;
  const fs::path& prompts = specification.prompts.file;
  StoreManifest m;
  m.specification = identity_json(specification, target.sha256,
                                  prompts.empty() ? std::string() : sha256_once(prompts));
  m.target_name = target.name;
  m.target_architecture = config.architecture;
  m.target_file = target.file.string();
  m.target_sha256 = target.sha256;
  m.tokenizer_sha256 = tokenizer_sha256;
  m.target_layers = config.layers;
  m.hidden_size = config.hidden_size;
  m.vocab_size = config.vocab_size;
  m.mask_token_id = specification.mask_token_id;
  m.end_token_ids = config.end_token_ids;
  m.taps = specification.taps;
  if (specification.final_hidden) m.final_hidden = "after_final_norm";
  m.responses = responses_text(specification.responses);
  if (m.taps.back() >= config.layers) {
    throw Error("taps", "layer " + std::to_string(m.taps.back()) +
                            " is past the last of the target, " +
                            std::to_string(config.layers - 1));
  }
  if (m.mask_token_id >= config.vocab_size) {
    throw Error("mask_token_id", std::to_string(m.mask_token_id) +
                                     " is outside of the target's vocabulary of " +
                                     std::to_string(config.vocab_size));
  }
  return m;
}

// The specification's number of threads, for the time of a build.
class ThreadCount {
 public:
  explicit ThreadCount(int64_t threads) : before_(at::get_num_threads()) {
    at::set_num_threads(static_cast<int>(threads));
  }
  ~ThreadCount() { at::set_num_threads(before_); }

 private:
  int before_;
};

double rate(int64_t tokens, double seconds) {
  return seconds > 0 ? static_cast<double>(tokens) / seconds : 0;
}

}  // namespace

std::string progress_text(const CaptureProgress& p) {
  const double prompt_rate = rate(p.prompt_tokens, p.prompt_seconds);
  const double response_rate = rate(p.response_tokens, p.response_seconds);
  std::string text = "store: " + grouped(p.prompt_tokens + p.response_tokens) + " tokens (prompt " +
                     grouped(std::llround(prompt_rate)) + "/s, response " +
                     grouped(std::llround(response_rate)) + "/s), shard " +
                     std::to_string(p.shard) + " of " + std::to_string(p.shards);
  if (prompt_rate > 0 && response_rate > 0) {
    const double left =
        static_cast<double>(p.prompt_tokens_expected - p.prompt_tokens) / prompt_rate +
        static_cast<double>(p.response_tokens_expected - p.response_tokens) / response_rate;
    text += ", " + grouped(std::llround(std::max(0.0, left))) + " s left";
  }
  return text;
}

StoreManifest capture_store(const StoreSpecification& specification, const fs::path& folder,
                            const std::function<void(const CaptureProgress&)>& on_progress) {
  const ThreadCount threads(specification.threads);
  TargetCheckpoint checkpoint = open_target(specification.target);
  std::string tokenizer_sha256;
  const std::vector<Prompt> prompts =
      tokenized_prompts(specification.prompts, specification.target, checkpoint,
                        specification.responses.max_tokens, tokenizer_sha256);
  const auto count = static_cast<int64_t>(prompts.size()),
             per_shard = specification.sequences_per_shard;
  const int64_t shards = (count + per_shard - 1) / per_shard;
  StoreWriter writer(folder, manifest_header(specification, checkpoint, tokenizer_sha256), shards);

  const auto prompts_of = [&](int64_t shard) {
    return std::span(prompts).subspan(shard * per_shard,
                                      std::min(per_shard, count - shard * per_shard));
  };
  CaptureProgress done;  // of the shards before
  done.shards = shards;
  std::vector<int64_t> missing;
  for (int64_t shard = 0; shard < shards; ++shard) {
    if (writer.has_shard(shard)) continue;
    missing.push_back(shard);
    for (const Prompt& prompt : prompts_of(shard)) {
      done.prompt_tokens_expected += static_cast<int64_t>(prompt.token_ids.size());
      done.response_tokens_expected += specification.responses.max_tokens;
    }
  }
  if (missing.empty()) return writer.finish();

  Transformer target(checkpoint.config, load_weights(checkpoint));
  checkpoint.weights.reset();  // unmaps the file
  for (const int64_t shard : missing) {
    CaptureProgress now = done;
    now.shard = shard + 1;
    std::vector<StoredSequence> sequences;
    {
      ShardCapture capture(target, specification, prompts_of(shard), shard * per_shard);
      sequences = capture.run([&](const ShardProgress& progress) {
        now.prompt_tokens = done.prompt_tokens + progress.prompt_tokens;
        now.response_tokens = done.response_tokens + progress.response_tokens;
        now.response_tokens_expected = done.response_tokens_expected - progress.unused_tokens;
        now.prompt_seconds = done.prompt_seconds + progress.prompt_seconds;
        now.response_seconds = done.response_seconds + progress.response_seconds;
        if (on_progress) on_progress(now);
      });
    }
    writer.write_shard(shard, sequences);
    done = now;
  }
  return writer.finish();
}

int build_store(const fs::path& specification_file, const fs::path& folder, std::ostream& out,
                bool live) {
  using Clock = std::chrono::steady_clock;
  const auto start = Clock::now();
  auto last = start;
  const std::chrono::duration<double> pause(live ? 0.2 : 10.0);
  bool is_open_line = false;
  const StoreManifest manifest = capture_store(
      read_store_specification(specification_file), folder, [&](const CaptureProgress& progress) {
        const auto now = Clock::now();
        if (now - last < pause) return;
        last = now;
        is_open_line = live;
        out << (live ? "\r\x1b[K" : "") << progress_text(progress) << (live ? "" : "\n")
            << std::flush;
      });
  const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
  out << (is_open_line ? "\r\x1b[K" : "") << "store: " << grouped(manifest.records())
      << " records, " << grouped(manifest.tokens()) << " tokens, " << grouped(manifest.bytes())
      << " bytes, " << fixed(100 * manifest.looped_share, 1)
      << " % of the responses looped and were cut; " << fixed(seconds, 1) << " s; hash "
      << manifest.hash().substr(0, 16) << "\n"
      << std::flush;
  return 0;
}

}  // namespace draftlab

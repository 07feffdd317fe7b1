#include "decode/run_decoding.h"

#include <ATen/Parallel.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "base/error.h"
#include "decode/answer_text.h"
#include "decode/decoding.h"
#include "decode/drafter_proposer.h"
#include "decode/look_up_proposer.h"
#include "record/run_folder.h"
#include "store/reader.h"
#include "target_model/gguf.h"
#include "target_model/tokenized_prompts.h"
#include "target_model/tokenizer.h"
#include "train/checkpoint.h"
#include "train/provenance.h"
#include "train/training_data.h"

namespace draftlab {
namespace {

constexpr int64_t kWarmUpTokens = 8;

Checkpoint trained_state(const SegmentTask& task, const SegmentFolder& folder) {
  const auto step = folder.last_checkpoint();
  if (step != task.config.to_step) {
    throw Error(folder.root().string(), "is not trained to its end, step " +
                                            std::to_string(task.config.to_step) +
                                            "; `draftlab resume` trains what is missing");
  }
  return read_checkpoint(folder.checkpoint(*step), task.id, *step);
}

std::vector<Prompt> held_out_prompts(const TrainingData& data, StoreReader& store) {
  std::vector<Prompt> prompts;
  for (const int64_t index : data.split().held_out) {
    const StoreRecord record = store.record(index);
    const auto prompt = record.token_ids.first(record.entry->prompt_length);
    prompts.push_back({record.entry->prompt_id, "", {prompt.begin(), prompt.end()}});
  }
  return prompts;
}

std::unique_ptr<Proposer> proposer_of(const DecodingSettings& settings, const SegmentConfig& config,
                                      Checkpoint state, const TrainingData& data) {
  if (settings.proposer == "look_up")
    return std::make_unique<LookUpProposer>(config.drafter.block_size - 1);
  return std::make_unique<DrafterProposer>(config.drafter, std::move(state.weights), data.frozen(),
                                           data.vocabulary(), settings.tree);
}

void add(const std::vector<DecodedAnswer>& answers, DecodingCost& cost) {
  for (const DecodedAnswer& answer : answers) {
    cost.tokens += std::ssize(answer.tokens) - 1;
    cost.passes += std::ssize(answer.passes);
  }
}

void set_seconds(const DecodeSeconds& seconds, DecodingCost& cost) {
  cost.prompt_seconds = seconds.prompt;
  cost.draft_seconds = seconds.draft;
  cost.verify_seconds = seconds.verify;
  cost.rest_seconds = seconds.rest;
}

}  // namespace

std::optional<DecodingRecord> decode_with(const SegmentTask& task,
                                          const std::filesystem::path& segment_folder,
                                          const DecodingSettings& settings,
                                          const std::function<void(size_t, size_t)>& on_progress,
                                          const std::atomic<bool>& stop) {
  at::set_num_threads(static_cast<int>(settings.threads));
  const SegmentConfig& config = task.config;
  Checkpoint state = trained_state(task, SegmentFolder(segment_folder));
  TrainingData data(config, task.store_folder);
  StoreReader store(task.store_folder);
  const StoreManifest& manifest = store.manifest();
  TargetCheckpoint checkpoint = open_target_of(manifest);
  const TargetSource source = target_source_of(manifest);
  std::string unused;
  std::vector<Prompt> prompts =
      settings.file.empty()
          ? held_out_prompts(data, store)
          : tokenized_prompts({.file = settings.file}, source, checkpoint, settings.tokens, unused);
  if (settings.prompts > 0 && settings.prompts < std::ssize(prompts))
    prompts.resize(settings.prompts);
  std::function<std::string(int32_t)> text_of = [](int32_t token) {
    return std::to_string(token) + " ";
  };
  std::optional<Tokenizer> tokenizer;
  if (source.format == "gguf") {
    tokenizer.emplace(GgufFile(checkpoint.file));
    text_of = [&](int32_t token) { return tokenizer->decode(std::span(&token, 1)); };
  }
  Transformer target(checkpoint.config, load_weights(checkpoint), Products::kRowwise);
  checkpoint.weights.reset();  // unmaps the file

  DecodingRecord record;
  record.settings = settings;
  record.weights_hash = weights_hash(state.weights);
  record.proposer = settings.proposer;
  record.machine = this_machine(config.training);
  record.machine.device = "cpu";
  record.machine.threads = settings.threads;
  const std::unique_ptr<Proposer> proposer = proposer_of(settings, config, std::move(state), data);
  NoProposer nothing;
  DecodeOptions options{.max_tokens = kWarmUpTokens,
                        .temperature = settings.temperature,
                        .seed = settings.seed,
                        .batch = settings.batch};
  const std::vector<Prompt> first(prompts.begin(), prompts.begin() + 1);
  for (Proposer* one : {static_cast<Proposer*>(&nothing), proposer.get()})
    Decoding(target, manifest.taps).answer(first, *one, options, stop);

  options.max_tokens = settings.tokens;
  Decoding alone(target, manifest.taps), with_drafter(target, manifest.taps);
  for (size_t begin = 0; begin < prompts.size(); begin += settings.batch) {
    const auto part =
        std::span(prompts).subspan(begin, std::min<size_t>(settings.batch, prompts.size() - begin));
    options.first = static_cast<int64_t>(begin);
    std::vector<DecodedAnswer> plain, drafted;
    const bool plain_first = begin / settings.batch % 2 == 0;
    if (plain_first) plain = alone.answer(part, nothing, options, stop);
    drafted = with_drafter.answer(part, *proposer, options, stop);
    if (!plain_first) plain = alone.answer(part, nothing, options, stop);
    if (stop) return std::nullopt;
    add(plain, record.plain);
    add(drafted, record.speculative);
    for (size_t i = 0; i < part.size(); ++i) {
      DecodedPrompt one{part[i].id, std::ssize(drafted[i].tokens) - 1,
                        std::ssize(drafted[i].passes)};
      if (settings.temperature == 0) one.same = drafted[i].tokens == plain[i].tokens;
      record.prompts.push_back(one);
      if (std::ssize(record.samples) < settings.samples)
        record.samples.push_back({part[i].id, answer_text(drafted[i], text_of)});
    }
    if (on_progress) on_progress(record.prompts.size(), prompts.size());
  }
  if (std::vector<double> passes = alone.pass_seconds(); !passes.empty()) {
    std::ranges::sort(passes);
    record.pass_low = passes[passes.size() / 4];
    record.pass_median = passes[passes.size() / 2];
    record.pass_high = passes[passes.size() * 3 / 4];
  }
  set_seconds(alone.seconds(), record.plain);
  set_seconds(with_drafter.seconds(), record.speculative);
  return record;
}

}  // namespace draftlab

#include "target_model/capture.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <unistd.h>

#include <cmath>
#include <fstream>
#include <set>
#include <sstream>

#include "base/error.h"
#include "base/file.h"
#include "source_dir.h"
#include "store/prompts.h"
#include "store/reader.h"
#include "store/shard.h"
#include "store/verify.h"
#include "store/writer.h"
#include "target_model/decoder_loops.h"
#include "target_model/frozen.h"
#include "target_model/shard_capture.h"
#include "target_model/transformer.h"

namespace draftlab {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

struct Killed {};

class Capture : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::temp_directory_path() / ("draftlab_capture_test_" + std::to_string(::getpid()));
    fs::remove_all(folder_);
    make_folder(folder_);
    specification_.name = "test";
    specification_.target.format = "made_up";
    specification_.taps = {0, 2, 3};
    specification_.prompts.count = 10;
    specification_.prompts.tokens = 8;
    specification_.responses.max_tokens = 20;
    specification_.responses.temperature = 1;
    specification_.sequences_per_shard = 4;
  }
  void TearDown() override { fs::remove_all(folder_); }

  // The target by itself, one sequence at a time: logits and taps of every position of `ids`.
  struct Forward {
    at::Tensor logits;  // [S, V]
    at::Tensor taps;    // [S, L_t * H]
  };
  Forward forward(const std::vector<int32_t>& ids) {
    TargetCheckpoint checkpoint = open_target(specification_.target);
    Transformer target(checkpoint.config, load_weights(checkpoint));
    std::vector<TokenRow> rows;
    for (size_t p = 0; p < ids.size(); ++p) rows.push_back({0, static_cast<int64_t>(p), ids[p]});
    KeyValueCache cache(target.config(), {static_cast<int64_t>(ids.size())});
    std::vector<at::Tensor> taps;
    const at::Tensor hidden =
        target.forward(cache, rows, [&](int64_t layer, const at::Tensor& output) {
          for (const int64_t tap : specification_.taps) {
            if (tap == layer) taps.push_back(output.clone());
          }
        });
    return {target.logits(hidden).clone(), at::cat(taps, 1)};
  }

  static at::Tensor tensor_of(std::span<const uint16_t> bf16, int64_t rows) {
    at::Tensor tensor = at::empty({rows, static_cast<int64_t>(bf16.size()) / rows}, at::kBFloat16);
    std::memcpy(tensor.data_ptr(), bf16.data(), bf16.size_bytes());
    return tensor.to(at::kFloat);
  }

  // The store `s` against the target by itself.
  void expect_what_the_target_gives(const std::vector<Prompt>& prompts) {
    StoreReader reader(folder_ / "s");
    ASSERT_EQ(reader.size(), static_cast<int64_t>(prompts.size()));
    for (int64_t i = 0; i < reader.size(); ++i) {
      const StoreRecord record = reader.record(i);
      const std::vector<int32_t> ids(record.token_ids.begin(), record.token_ids.end());
      const int64_t length = record.entry->length, prompt_length = record.entry->prompt_length;
      EXPECT_EQ(record.entry->prompt_id, prompts[i].id);
      EXPECT_TRUE(
          std::equal(prompts[i].token_ids.begin(), prompts[i].token_ids.end(), ids.begin()));
      EXPECT_EQ(prompt_length, static_cast<int64_t>(prompts[i].token_ids.size()));
      EXPECT_TRUE(record.entry->looped ||
                  length == prompt_length + 20);  // no end token: only loops end early
      const Forward expected = forward(ids);
      for (int64_t s = 0; s < length; ++s) {
        EXPECT_EQ(record.loss_mask[s], s >= prompt_length);
        EXPECT_EQ(record.target_argmax[s],
                  argmax(expected.logits[s].data_ptr<float>(), reader.manifest().vocab_size))
            << i << " " << s;
      }
      // bf16 of values that differ in their last float32 bits
      EXPECT_TRUE(at::allclose(tensor_of(record.taps, length), expected.taps, 1e-2, 1e-3)) << i;
    }
  }

  void write_prompts(const std::vector<Prompt>& prompts) {
    std::string lines;
    for (const Prompt& prompt : prompts) {
      lines += canonical(JsonObject{
                   {"id", prompt.id},
                   {"token_ids", JsonArray(prompt.token_ids.begin(), prompt.token_ids.end())}}) +
               "\n";
    }
    specification_.prompts.file = folder_ / "prompts.jsonl";
    specification_.prompts.count = static_cast<int64_t>(prompts.size());
    replace_file(specification_.prompts.file, lines);
  }

  fs::path folder_;
  StoreSpecification specification_;
};

TEST_F(Capture, EveryRecordHoldsWhatTheTargetGivesForItsTokens) {
  const StoreManifest manifest = capture_store(specification_, folder_ / "s");
  EXPECT_THAT(verify_store(folder_ / "s"), ::testing::IsEmpty());
  expect_what_the_target_gives(made_up_prompts(specification_.prompts, manifest.vocab_size));
}

// As with a chat template: what all prompts of a shard begin with runs once, but for the last token
// of a prompt that is nothing else.
TEST_F(Capture, PromptsThatBeginAlikeAreNoExceptions) {
  std::vector<Prompt> prompts;
  for (int32_t i = 0; i < 9; ++i) {
    prompts.push_back({"p" + std::to_string(i), "", {5, 6, 7, 8, 9}});
    for (int32_t k = 0; k < i % 4; ++k) prompts.back().token_ids.push_back(10 + i + k);
  }
  write_prompts(prompts);
  capture_store(specification_, folder_ / "s");
  expect_what_the_target_gives(prompts);
}

TEST_F(Capture, EqualPromptsAnswerDifferentlyInEveryShardWhateverTheShardsHold) {
  const std::vector<int32_t> ids = {5, 6, 7};
  std::vector<Prompt> prompts;
  for (int32_t i = 0; i < 9; ++i) prompts.push_back({"p" + std::to_string(i), "", ids});
  write_prompts(prompts);
  specification_.responses.cut_loops = false;
  const auto answers = [&](int64_t per_shard) {
    specification_.sequences_per_shard = per_shard;
    const fs::path folder = folder_ / std::to_string(per_shard);
    capture_store(specification_, folder);
    StoreReader reader(folder);
    std::vector<std::vector<int32_t>> answers;
    for (int64_t i = 0; i < reader.size(); ++i) {
      const auto tokens = reader.record(i).token_ids;
      answers.emplace_back(tokens.begin(), tokens.end());
    }
    return answers;
  };
  const auto by_four = answers(4);
  EXPECT_EQ(std::set(by_four.begin(), by_four.end()).size(), 9u);
  EXPECT_EQ(answers(3), by_four);
}

TEST_F(Capture, FinalHiddenStatesGiveTheTargetsOwnDistributionAndChangeNothingElse) {
  specification_.prompts.tokens = 12;
  const StoreManifest without = capture_store(specification_, folder_ / "without");
  specification_.final_hidden = true;
  const StoreManifest manifest = capture_store(specification_, folder_ / "s");
  EXPECT_NE(manifest.hash(), without.hash());
  EXPECT_EQ(manifest.final_hidden, "after_final_norm");
  EXPECT_EQ(manifest.bytes() - without.bytes() >= manifest.final_hidden_bytes(), true);
  EXPECT_THAT(verify_store(folder_ / "s"), ::testing::IsEmpty());
  const at::Tensor head = load_frozen(manifest).head;
  StoreReader reader(folder_ / "s"), other(folder_ / "without");
  for (int64_t i = 0; i < reader.size(); ++i) {
    const StoreRecord record = reader.record(i), plain = other.record(i);
    EXPECT_TRUE(std::ranges::equal(record.token_ids, plain.token_ids));
    EXPECT_TRUE(std::ranges::equal(record.taps, plain.taps));
    EXPECT_TRUE(plain.final_hidden.empty());
    const std::vector<int32_t> ids(record.token_ids.begin(), record.token_ids.end());
    const at::Tensor expected = forward(ids).logits.softmax(1);
    const at::Tensor p =
        tensor_of(record.final_hidden, record.entry->length).matmul(head.t()).softmax(1);
    // Rounded to bf16, logits of about 4 move by a few hundredths.
    EXPECT_LT((p - expected).abs().max().item<double>(), 3e-2) << i;
  }
}

TEST_F(Capture, GreedyResponsesAreTheArgmaxOfTheirOwnPast) {
  specification_.responses.temperature = 0;
  specification_.responses.cut_loops = false;
  capture_store(specification_, folder_ / "s");
  StoreReader reader(folder_ / "s");
  for (int64_t i = 0; i < reader.size(); ++i) {
    const StoreRecord record = reader.record(i);
    ASSERT_EQ(record.entry->length, record.entry->prompt_length + 20);
    for (int64_t s = record.entry->prompt_length; s < record.entry->length; ++s) {
      EXPECT_EQ(record.token_ids[s], record.target_argmax[s - 1]) << i << " " << s;
    }
  }
}

TEST_F(Capture, LoopingResponsesAreCutAndCounted) {
  specification_.responses.temperature = 0;  // a small greedy target soon repeats itself
  specification_.responses.max_tokens = 100;
  const StoreManifest cut = capture_store(specification_, folder_ / "cut");
  specification_.responses.cut_loops = false;
  const StoreManifest whole = capture_store(specification_, folder_ / "whole");
  EXPECT_GT(cut.looped_share, 0);
  EXPECT_EQ(whole.looped_share, 0);
  StoreReader cut_reader(folder_ / "cut"), whole_reader(folder_ / "whole");
  for (int64_t i = 0; i < cut_reader.size(); ++i) {
    const StoreRecord a = cut_reader.record(i), b = whole_reader.record(i);
    EXPECT_EQ(a.entry->looped, a.entry->length < b.entry->length);
    EXPECT_TRUE(std::equal(a.token_ids.begin(), a.token_ids.end(), b.token_ids.begin()));
    EXPECT_GE(a.entry->length, a.entry->prompt_length + 4);
  }
}

TEST_F(Capture, ResponsesEndWithTheTargetsEndToken) {
  // The made-up target has no end token, so give it prompts and look for the same text in a
  // checkpoint with one.
  const StoreManifest manifest = capture_store(specification_, folder_ / "s");
  StoreReader reader(folder_ / "s");
  const StoreRecord record = reader.record(0);
  const int32_t end = record.token_ids[record.entry->prompt_length + 3];
  TargetCheckpoint checkpoint = open_target(specification_.target);
  checkpoint.config.end_token_ids = {end};
  Transformer target(checkpoint.config, load_weights(checkpoint));
  const std::vector<Prompt> prompts = made_up_prompts(specification_.prompts, manifest.vocab_size);
  ShardCapture capture(target, specification_, std::span(prompts).subspan(0, 4), 0);
  const StoredSequence stored = capture.run({}).front();
  EXPECT_EQ(stored.token_ids.back(), end);
  EXPECT_LE(static_cast<int64_t>(stored.token_ids.size()), record.entry->prompt_length + 4);
  EXPECT_TRUE(
      std::equal(stored.token_ids.begin(), stored.token_ids.end(), record.token_ids.begin()));
  EXPECT_EQ(stored.taps.size(), stored.token_ids.size() * 3 * manifest.hidden_size);
  EXPECT_EQ(stored.target_argmax.size(), stored.token_ids.size());
}

TEST_F(Capture, APromptThatEndsWithTheEndTokenIsAnsweredAllTheSame) {
  TargetCheckpoint checkpoint = open_target(specification_.target);
  checkpoint.config.end_token_ids = {5};
  Transformer target(checkpoint.config, load_weights(checkpoint));
  const std::vector<Prompt> prompts = {{"ended", "", {3, 4, 5}}, {"open", "", {3, 4, 6}}};
  for (const StoredSequence& stored : ShardCapture(target, specification_, prompts, 0).run({}))
    EXPECT_GT(stored.token_ids.size(), 3u) << stored.prompt_id;
}

TEST_F(Capture, ATargetThatGivesNaNEndsTheBuildWithThePromptsName) {
  TargetCheckpoint checkpoint = open_target(specification_.target);
  TransformerWeights weights = load_weights(checkpoint);
  weights.layers[2].down[5][7] = std::nan("");
  Transformer target(checkpoint.config, std::move(weights));
  const std::vector<Prompt> prompts = made_up_prompts(specification_.prompts, 128);
  ShardCapture capture(target, specification_, std::span(prompts).subspan(0, 4), 0);
  EXPECT_THAT(
      [&] { capture.run({}); },
      ThrowsMessage<Error>(HasSubstr("prompt made-up-0: the target's logits are not finite")));
}

TEST_F(Capture, ABuildThatIsKilledAnywhereEndsUpTheSame) {
  const std::string hash = capture_store(specification_, folder_ / "whole").hash();
  // A repeated build of the same specification changes nothing.
  EXPECT_EQ(capture_store(specification_, folder_ / "whole",
                          [](const CaptureProgress&) { throw Killed(); })
                .hash(),
            hash);
  for (const int64_t kill_after : {1, 15, 30, 45}) {
    const fs::path folder = folder_ / ("killed_" + std::to_string(kill_after));
    int64_t calls = 0, shard = 0;
    EXPECT_THROW(capture_store(specification_, folder,
                               [&](const CaptureProgress& progress) {
                                 shard = progress.shard;
                                 if (++calls == kill_after) throw Killed();
                               }),
                 Killed);
    EXPECT_FALSE(fs::exists(manifest_file(folder)));
    EXPECT_EQ(fs::exists(folder / shard_name(0)), shard > 1) << kill_after;
    int64_t first_shard = 0;
    const StoreManifest manifest =
        capture_store(specification_, folder, [&](const CaptureProgress& progress) {
          if (first_shard == 0) first_shard = progress.shard;
        });
    EXPECT_EQ(first_shard, shard) << "finished shards are not made again";
    EXPECT_EQ(manifest.hash(), hash) << kill_after;
    EXPECT_THAT(verify_store(folder), ::testing::IsEmpty());
  }
}

TEST_F(Capture, TheSeedOfASequenceIsItsOwn) {
  capture_store(specification_, folder_ / "a");
  specification_.responses.seed = 2;
  capture_store(specification_, folder_ / "b");
  StoreReader a(folder_ / "a"), b(folder_ / "b");
  int64_t differ = 0;
  for (int64_t i = 0; i < a.size(); ++i) {
    const StoreRecord x = a.record(i), y = b.record(i);
    differ +=
        !std::equal(x.token_ids.begin(), x.token_ids.end(), y.token_ids.begin(), y.token_ids.end());
  }
  EXPECT_GT(differ, 7);
  specification_.responses.seed = 1;
  EXPECT_THAT([&] { capture_store(specification_, folder_ / "b"); },
              ThrowsMessage<Error>(HasSubstr("responses.seed: 2 there, 1 here")));
}

TEST_F(Capture, ProgressCountsEveryTokenAndEndsWhereItExpected) {
  CaptureProgress last;
  const StoreManifest manifest =
      capture_store(specification_, folder_ / "s", [&](const CaptureProgress& progress) {
        EXPECT_GE(progress.prompt_tokens, last.prompt_tokens);
        EXPECT_GE(progress.response_tokens, last.response_tokens);
        last = progress;
      });
  EXPECT_EQ(last.prompt_tokens, last.prompt_tokens_expected);
  EXPECT_EQ(last.prompt_tokens, manifest.tokens() - manifest.response_tokens());
  EXPECT_EQ(last.shard, 3);
  EXPECT_EQ(last.shards, 3);
  last = {.prompt_tokens = 12000,
          .response_tokens = 345,
          .prompt_tokens_expected = 12000,
          .response_tokens_expected = 745,
          .prompt_seconds = 12,
          .response_seconds = 3.45,
          .shard = 1,
          .shards = 2};
  EXPECT_EQ(progress_text(last),
            "store: 12,345 tokens (prompt 1,000/s, response 100/s), shard 1 of 2, 4 s left");
}

TEST_F(Capture, BuildStoreReadsTheFileAndReports) {
  replace_file(folder_ / "spec.json", pretty(to_json(specification_)));
  std::ostringstream out;
  EXPECT_EQ(build_store(folder_ / "spec.json", folder_ / "s", out), 0);
  EXPECT_THAT(out.str(), HasSubstr("store: 10 records, "));
  EXPECT_EQ(read_manifest(folder_ / "s").records(), 10);
}

TEST_F(Capture, FrozenTensorsAreTheTargetsOwnAndAnotherTargetIsRefused) {
  StoreManifest manifest = capture_store(specification_, folder_ / "s");
  const FrozenTensors frozen = load_frozen(manifest);
  TargetCheckpoint checkpoint = open_target(specification_.target);
  const TransformerWeights weights = load_weights(checkpoint);
  EXPECT_TRUE(frozen.embedding.equal(weights.embedding));
  EXPECT_TRUE(frozen.head.equal(weights.head));
  EXPECT_FALSE(frozen.head.equal(frozen.embedding));
  manifest.target_sha256 = "another";
  EXPECT_THAT([&] { load_frozen(manifest); }, ThrowsMessage<Error>(HasSubstr("is not the target")));
}

TEST_F(Capture, AHuggingFaceTargetWorksFromTokenIdsAndNeedsThem) {
  const fs::path model = DRAFTLAB_SOURCE_DIR "/tests/golden/tiny_llama/hf";
  specification_.target.format = "huggingface";
  specification_.target.path = model;
  specification_.taps = {0, 2};
  specification_.mask_token_id = 39;
  specification_.prompts.file = folder_ / "prompts.jsonl";
  specification_.prompts.count = 1;
  replace_file(specification_.prompts.file, R"({"id": "lily", "token_ids": [1, 33, 7, 21, 38]})");
  const StoreManifest manifest = capture_store(specification_, folder_ / "s");
  EXPECT_TRUE(fs::path(manifest.target_file).is_absolute());
  EXPECT_TRUE(fs::equivalent(manifest.target_file, model));
  const FrozenTensors frozen = load_frozen(manifest);
  EXPECT_TRUE(frozen.head.is_same(frozen.embedding));  // tied
  replace_file(specification_.prompts.file, R"({"id": "lily", "prompt": "Once"})");
  EXPECT_THAT([&] { capture_store(specification_, folder_ / "t"); },
              ThrowsMessage<Error>(HasSubstr("give token_ids")));
}

TEST_F(Capture, WhatDoesNotFitTheTargetIsRefusedBeforeAnythingIsWritten) {
  const auto expect_refused = [&](const std::string& reason) {
    EXPECT_THAT([&] { capture_store(specification_, folder_ / "s"); },
                ThrowsMessage<Error>(HasSubstr(reason)));
    EXPECT_FALSE(fs::exists(folder_ / "s"));
  };
  const StoreSpecification good = specification_;
  specification_.taps = {0, 4};
  expect_refused("taps: layer 4 is past the last of the target, 3");
  specification_ = good;
  specification_.mask_token_id = 128;
  expect_refused("mask_token_id: 128 is outside");
  specification_ = good;
  specification_.responses.max_tokens = 5000;
  expect_refused("the target's context ends at 4096");
  specification_ = good;
  specification_.prompts.file = folder_ / "prompts.jsonl";
  specification_.prompts.count = 1;
  replace_file(specification_.prompts.file, R"({"id": "x", "token_ids": [1, 200]})");
  expect_refused("prompt x: token 200 is outside of the target's vocabulary of 128");
}

}  // namespace
}  // namespace draftlab

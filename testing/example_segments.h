#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <string>

#include "base/file.h"
#include "base/json.h"
#include "record/metrics.h"
#include "record/run_folder.h"
#include "store/specification.h"
#include "target_model/capture.h"
#include "train/segment_training.h"

namespace draftlab {

// For tests: one made-up store for all of a suite, and segments trained in a folder beside it.
class ExampleSegments : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    root_ = std::filesystem::temp_directory_path() /
            ("draftlab_example_segments_" + std::to_string(::getpid()));
    make_folder(root_);
    manifest_ = capture_store(specification(), root_ / "store");
  }
  static void TearDownTestSuite() { std::filesystem::remove_all(root_); }

  // Sampled, so that the data's tokens are not the target's choices; three shards, and a mask token
  // that is not what an integer is by default.
  static StoreSpecification specification() {
    const char* const text = R"({"name": "example",
        "target": {"format": "made_up", "logit_scale": 6, "vocab_size": 40}, "taps": [0, 1, 3],
        "mask_token_id": 39,
        "prompts": {"made_up": {"count": 44, "tokens": 16}}, "sequences_per_shard": 16,
        "responses": {"max_tokens": 30, "temperature": 1, "cut_loops": true}})";
    return parse_store_specification(parse_json(text, "test"), "test", root_);
  }

  SegmentConfig config(const std::string& optimizer = R"({"kind": "muon", "scale": "match_rms"})") {
    SegmentConfig config;
    config.drafter = {.hidden_size = manifest_.hidden_size,
                      .intermediate_size = 48,
                      .layer_types = {"sliding_attention", "full_attention"},
                      .layer_options = {{"num_attention_heads", 2},
                                        {"num_key_value_heads", 1},
                                        {"head_dim", 16},
                                        {"sliding_window", 8}},
                      .block_size = 4,
                      .vocab_size = manifest_.vocab_size,
                      .draft_vocab_size = manifest_.vocab_size - 16,
                      .mask_token_id = manifest_.mask_token_id,
                      .num_taps = static_cast<int64_t>(manifest_.taps.size())};
    config.training = {.steps = 12, .anchors = 6, .warmup = 0.25, .gamma = 4};
    config.evaluation = {.steps = {0, 4, 8, 12}, .stride = 2};
    // 12 steps of 4 are three epochs and a bit; an evaluation takes more than one batch, the last
    // of them short.
    config.split = {.train = 15, .tuning = 9, .held_out = 11};
    config.optimizer = parse_optimizer_config(parse_json(optimizer, "test"), "test");
    config.routing = route(parameter_shapes(config.drafter), config.optimizer, {}, "test");
    config.seeds = {1, 2, 3};
    config.store = manifest_.hash();
    config.to_step = 12;
    return config;
  }

  // Trains in segments/<id>; `stop` ends it after the next step.
  Outcome train(const SegmentConfig& config, const std::string& name = "", bool stop = false) {
    const SegmentTask task{segment_id(config), config, root_ / "store", 5};
    const std::filesystem::path folder = root_ / "segments" / (name.empty() ? task.id : name);
    make_folder(folder);
    write_task(SegmentFolder(folder).task(), task);
    const std::atomic<bool> stop_now{stop};
    return train_segment(task, folder, stop_now);
  }
  Metrics metrics(const std::string& name) {
    return read_metrics(SegmentFolder(root_ / "segments" / name).metrics());
  }

  static inline std::filesystem::path root_;
  static inline StoreManifest manifest_;
};

// All but seconds.
inline void expect_equal_rows(const Metrics& a, const Metrics& b) {
  ASSERT_EQ(a.steps.size(), b.steps.size());
  for (size_t i = 0; i < a.steps.size(); ++i) {
    EXPECT_EQ(a.steps[i].step, b.steps[i].step);
    EXPECT_EQ(a.steps[i].loss, b.steps[i].loss);
    EXPECT_EQ(a.steps[i].gradient_norm, b.steps[i].gradient_norm);
    EXPECT_EQ(a.steps[i].tokens, b.steps[i].tokens);
  }
  ASSERT_EQ(a.evaluations.size(), b.evaluations.size());
  for (size_t i = 0; i < a.evaluations.size(); ++i) {
    EXPECT_EQ(a.evaluations[i].step, b.evaluations[i].step);
    EXPECT_EQ(a.evaluations[i].split, b.evaluations[i].split);
    EXPECT_EQ(a.evaluations[i].loss, b.evaluations[i].loss);
    EXPECT_EQ(a.evaluations[i].acceptance_length, b.evaluations[i].acceptance_length);
    EXPECT_EQ(a.evaluations[i].data_hash, b.evaluations[i].data_hash);
  }
}

}  // namespace draftlab

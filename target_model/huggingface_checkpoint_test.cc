// Tiny models in two Hugging Face layouts against independent forward passes, and what is refused:
// one that is made up (tests/golden/tiny_llama), and a trained one where its files are.
#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <gmock/gmock.h>
#include <unistd.h>

#include "base/error.h"
#include "base/file.h"
#include "source_dir.h"
#include "store/safetensors.h"
#include "target_model/decoder_loops.h"
#include "target_model/transformer.h"

namespace draftlab {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

const fs::path kTiny = DRAFTLAB_SOURCE_DIR "/tests/golden/tiny_llama",
               kQwen2 = DRAFTLAB_SOURCE_DIR "/tests/golden/tiny_qwen2",
               kQwen3 = DRAFTLAB_SOURCE_DIR "/tests/golden/tiny_qwen3",
               kStories = DRAFTLAB_SOURCE_DIR "/../shared/data/stories260k";

class HuggingFace : public ::testing::Test {
 protected:
  void SetUp() override {
    at::set_num_threads(1);
    folder_ =
        fs::temp_directory_path() / ("draftlab_huggingface_test_" + std::to_string(::getpid()));
    make_folder(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }

  static TransformerWeights weights_of(const fs::path& folder) {
    TargetCheckpoint checkpoint = open_huggingface(folder);
    return load_weights(checkpoint);
  }
  static Transformer load(const fs::path& folder) {
    return Transformer(open_huggingface(folder).config, weights_of(folder));
  }

  // A copy of the model's folder whose config.json says something else.
  void expect_refused(const std::string& from, const std::string& to, const std::string& reason) {
    std::string config = read_file(kTiny / "hf/config.json");
    ASSERT_NE(config.find(from), std::string::npos) << from;
    config.replace(config.find(from), from.size(), to);
    fs::remove_all(folder_);
    make_folder(folder_);
    replace_file(folder_ / "config.json", config);
    fs::create_symlink(kTiny / "hf/model.safetensors", folder_ / "model.safetensors");
    EXPECT_THAT([&] { load(folder_); }, ThrowsMessage<Error>(HasSubstr(reason))) << to;
  }

  fs::path folder_;
};

class HuggingFaceModel : public HuggingFace, public ::testing::WithParamInterface<fs::path> {
 protected:
  void SetUp() override {
    HuggingFace::SetUp();
    if (!fs::exists(GetParam() / "golden.json")) GTEST_SKIP() << GetParam() << " is not here";
    golden_ = read_json(GetParam() / "golden.json");
  }

  // Norms behind the embedding and each layer, and behind the final norm; returns the logits.
  at::Tensor run(Transformer& model, double tolerance) {
    std::vector<TokenRow> rows;
    for (const Json& id : golden_.at("ids").as_array()) {
      rows.push_back({0, static_cast<int64_t>(rows.size()), static_cast<int32_t>(id.as_int64())});
    }
    const auto expect_norms = [&](const at::Tensor& hidden, const Json& norms,
                                  const std::string& what) {
      const int64_t positions[] = {0, 1, 31, 64};  // those the goldens were taken at
      for (int64_t i = 0; i < 4; ++i) {
        const double expected = norms.at(i).as_double();
        EXPECT_NEAR(hidden[positions[i]].norm().item<double>(), expected, tolerance * expected)
            << what << " position " << positions[i];
      }
    };
    KeyValueCache cache(model.config(), {static_cast<int64_t>(rows.size())});
    const at::Tensor hidden =
        model.forward(cache, rows, [&](int64_t layer, const at::Tensor& output) {
          expect_norms(output, golden_.at("hidden_l2").at(layer + 1),
                       "layer " + std::to_string(layer));
        });
    expect_norms(hidden, golden_.at("final_norm_l2"), "final norm");
    return model.logits(hidden).clone();
  }

  Json golden_;
};
INSTANTIATE_TEST_SUITE_P(Models, HuggingFaceModel,
                         ::testing::Values(kTiny, kQwen2, kQwen3, kStories),
                         [](const auto& info) { return info.param.filename().string(); });

TEST_P(HuggingFaceModel, OneFileOfFloat32GivesTheGoldenForwardPass) {
  Transformer model = load(GetParam() / "hf");
  const at::Tensor logits = run(model, 1e-4);  // float32; the goldens have five digits
  const JsonArray& ids = golden_.at("logits_argmax").as_array();
  for (int64_t t = 0; t < static_cast<int64_t>(ids.size()); ++t) {
    EXPECT_EQ(argmax(logits[t].data_ptr<float>(), logits.size(1)), ids[t].as_int64()) << t;
  }
  for (int64_t t = 0; t < 8; ++t) {
    for (int64_t v = 0; v < 8; ++v) {
      EXPECT_NEAR(logits[t][v].item<double>(), golden_.at("logits_first8").at(t).at(v).as_double(),
                  1e-3);
    }
  }
}

TEST_P(HuggingFaceModel, ShardsOfBf16AreTheSameWeightsRoundedAndNearlyTheSameForwardPass) {
  const TransformerWeights exact = weights_of(GetParam() / "hf"),
                           rounded = weights_of(GetParam() / "hf-sharded-bf16");
  const auto expect_rounded = [](const at::Tensor& a, const at::Tensor& b) {
    EXPECT_TRUE(a.to(at::kBFloat16).to(at::kFloat).equal(b));
  };
  expect_rounded(exact.embedding, rounded.embedding);
  expect_rounded(exact.final_norm, rounded.final_norm);
  for (size_t l = 0; l < exact.layers.size(); ++l) {
    expect_rounded(exact.layers[l].qkv, rounded.layers[l].qkv);
    expect_rounded(exact.layers[l].gate_up, rounded.layers[l].gate_up);
    expect_rounded(exact.layers[l].down, rounded.layers[l].down);
  }
  Transformer model = load(GetParam() / "hf-sharded-bf16");
  const at::Tensor logits = run(model, 3e-2);  // bf16
  for (int64_t t = 0; t < 8; ++t) {
    // bf16: of the logits' size, since each is a sum of rounded products
    const double size = logits[t].abs().max().item<double>();
    for (int64_t v = 0; v < 8; ++v) {
      const double expected = golden_.at("logits_first8").at(t).at(v).as_double();
      EXPECT_NEAR(logits[t][v].item<double>(), expected, 3e-2 * (1 + size));
    }
  }
}

TEST_P(HuggingFaceModel, Float16IsNearlyTheSameForwardPass) {
  if (!fs::exists(GetParam() / "hf-f16")) GTEST_SKIP() << "this model is not kept in float16";
  Transformer model = load(GetParam() / "hf-f16");
  run(model, 1e-2);  // float16 weights
}

TEST_P(HuggingFaceModel, TheHashIsThatOfAllFilesAndDiffersBetweenLayouts) {
  EXPECT_EQ(open_huggingface(GetParam() / "hf").sha256,
            open_huggingface(GetParam() / "hf/").sha256);
  EXPECT_NE(open_huggingface(GetParam() / "hf").sha256,
            open_huggingface(GetParam() / "hf-sharded-bf16").sha256);
  EXPECT_EQ(open_huggingface(GetParam() / "hf/").name, "hf");
}

TEST_F(HuggingFace, RopeMayBeNestedAndSayDefault) {
  fs::remove_all(folder_);
  make_folder(folder_);
  std::string config = read_file(kTiny / "hf/config.json");
  const std::string flat = "\"rope_theta\": 10000.0",
                    nested = R"("rope_parameters": {"rope_type": "default", "rope_theta": 777})";
  replace_file(folder_ / "config.json", config.replace(config.find(flat), flat.size(), nested));
  fs::create_symlink(kTiny / "hf/model.safetensors", folder_ / "model.safetensors");
  EXPECT_EQ(open_huggingface(folder_).config.rope_theta, 777);
}

TEST_F(HuggingFace, ATurnEndsWhereAnyFileOfTheModelSaysSo) {
  fs::copy(kTiny / "hf", folder_,
           fs::copy_options::recursive | fs::copy_options::overwrite_existing);
  const TargetCheckpoint before = open_huggingface(folder_);
  const auto ends = [&] { return open_huggingface(folder_).config.end_token_ids; };
  const std::vector<int64_t> own = before.config.end_token_ids;
  ASSERT_THAT(own, ::testing::ElementsAre(2));
  replace_file(folder_ / "generation_config.json", R"({"eos_token_id": [2, 9]})");
  EXPECT_THAT(ends(), ::testing::ElementsAre(2, 9));
  EXPECT_NE(open_huggingface(folder_).sha256, before.sha256) << "another end is another target";
  replace_file(folder_ / "generation_config.json", R"({"eos_token_id": 2})");
  EXPECT_EQ(open_huggingface(folder_).sha256, before.sha256);
  replace_file(folder_ / "tokenizer_config.json", R"({"eos_token": {"content": "<end>"}})");
  EXPECT_EQ(ends(), own) << "no file gives its id";
  replace_file(folder_ / "tokenizer.json", R"({"added_tokens": [{"id": 5, "content": "<end>"}]})");
  EXPECT_THAT(ends(), ::testing::ElementsAre(2, 5));
  replace_file(folder_ / "tokenizer_config.json",
               R"({"added_tokens_decoder": {"6": {"content": "</s>"}}, "eos_token": "</s>"})");
  EXPECT_THAT(ends(), ::testing::ElementsAre(2, 6));
  replace_file(folder_ / "generation_config.json", R"({"eos_token_id": 4096})");
  EXPECT_THAT([&] { ends(); },
              ThrowsMessage<Error>(HasSubstr("generation_config.json: eos_token_id: must lie")));
}

TEST_F(HuggingFace, ATensorIsLeftOutOnlyWhereItSaysNothingNew) {
  const SafetensorsFile tiny(kTiny / "hf/model.safetensors");
  fs::copy(kTiny / "hf/config.json", folder_ / "config.json");
  std::map<std::string, SafetensorsEntry> tensors = tiny.tensors();
  const auto write = [&] {
    replace_file(folder_ / "model.safetensors", safetensors_bytes(tensors, tiny.metadata()));
  };
  tensors["lm_head.weight"] = tensors.at("model.embed_tokens.weight");
  write();
  EXPECT_NO_THROW(load(folder_)) << "the embedding again";
  std::string other(tensors.at("lm_head.weight").bytes);
  other[5] ^= 1;
  tensors["lm_head.weight"].bytes = other;
  write();
  EXPECT_THAT([&] { load(folder_); },
              ThrowsMessage<Error>(HasSubstr("lm_head.weight: differs from the embedding")));
  tensors.erase("lm_head.weight");
  const std::vector<float> rotation = {1, 0.01f}, wrong = {1, 0.02f};
  const auto with = [&](const std::vector<float>& values) {
    tensors["model.layers.0.self_attn.rotary_emb.inv_freq"] = {
        "F32", {2}, {reinterpret_cast<const char*>(values.data()), 8}};
    write();
    load(folder_);
  };
  EXPECT_NO_THROW(with(rotation));
  EXPECT_THAT([&] { with(wrong); }, ThrowsMessage<Error>(HasSubstr("rotary_emb.inv_freq")));
}

TEST_F(HuggingFace, WhatIsNotSupportedIsRefusedByName) {
  expect_refused("\"model_type\": \"llama\"", "\"model_type\": \"gemma3\"",
                 "model_type: 'gemma3' is not known");
  expect_refused("\"rope_scaling\": null", R"("rope_scaling": {"rope_type": "yarn", "factor": 4})",
                 "rope_scaling: has a value");
  expect_refused("\"hidden_act\": \"silu\"", "\"hidden_act\": \"gelu\"", "hidden_act: has a value");
  expect_refused("\"attention_bias\": false", "\"attention_bias\": true",
                 "attention_bias: has a value");
  expect_refused("\"mlp_bias\": false", "\"mlp_bias\": true", "mlp_bias: has a value");
  expect_refused("\"use_cache\": true", "\"quantization_config\": {}",
                 "quantization_config: has a value");
  expect_refused("\"use_cache\": true", "\"layer_types\": [\"sliding_attention\"]",
                 "layer_types: has a value");
  expect_refused("\"use_cache\": true", "\"use_sliding_window\": true",
                 "use_sliding_window: has a value");
  expect_refused("\"num_hidden_layers\": 3", "\"num_hidden_layers\": 4",
                 "has no tensor 'model.layers.3.");
  expect_refused("\"num_hidden_layers\": 3", "\"num_hidden_layers\": 2", "model.layers.2.");
  expect_refused("\"intermediate_size\": 24", "\"intermediate_size\": 20",
                 "another shape than config.json says");
  expect_refused("\"tie_word_embeddings\": true", "\"tie_word_embeddings\": false",
                 "has no tensor 'lm_head.weight'");
  expect_refused("\"model_type\": \"llama\"", "\"model_type\": \"qwen2\"", "q_proj.bias");
}

TEST_F(HuggingFace, AMissingFolderOrFileIsNamed) {
  EXPECT_THAT([&] { open_huggingface(folder_ / "none"); },
              ThrowsMessage<Error>(HasSubstr("none: no such folder")));
  EXPECT_THAT([&] { open_huggingface(folder_); },
              ThrowsMessage<Error>(HasSubstr("has no config.json")));
  replace_file(folder_ / "config.json", read_file(kTiny / "hf/config.json"));
  EXPECT_THAT([&] { open_huggingface(folder_); },
              ThrowsMessage<Error>(HasSubstr("neither model.safetensors")));
  replace_file(folder_ / "model.safetensors.index.json",
               R"({"weight_map": {"a": "../x.safetensors"}})");
  EXPECT_THAT([&] { open_huggingface(folder_); },
              ThrowsMessage<Error>(HasSubstr("must be a file in the same folder")));
}

}  // namespace
}  // namespace draftlab

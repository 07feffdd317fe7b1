#include "record/layers/layer_kind.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "base/error.h"
#include "base/json.h"
#include "base/random.h"

namespace draftlab {
namespace {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

DrafterConfig parse(const std::string& layers) {
  const std::string text =
      R"({"hidden_size": 32, "intermediate_size": 64, "block_size": 4, "vocab_size": 64, )" +
      layers + "}";
  return parse_drafter_config(parse_json(text, "s.json"), "s.json: drafter", 0, 3);
}

std::string refusal(const std::string& layers) {
  try {
    parse(layers);
  } catch (const Error& error) {
    return error.what();
  }
  return "accepted";
}

const char* const kHeads = R"("num_attention_heads": 4, "head_dim": 8, )";

TEST(LayerKind, AnUnknownNameIsAnErrorThatListsTheKnownOnes) {
  EXPECT_THAT(
      [] { layer_kind("mamba", "s.json: layer_types[2]"); },
      ThrowsMessage<Error>(AllOf(HasSubstr("s.json: layer_types[2]: 'mamba' is not known"),
                                 HasSubstr("full_attention sliding_attention gated_delta_net"))));
  DrafterConfig config = parse(std::string(kHeads) + R"("layer_types": ["full_attention"])");
  config.layer_types.push_back("mamba");
  EXPECT_THAT([&] { parameter_shapes(config); }, ThrowsMessage<Error>(HasSubstr("'mamba'")));
}

TEST(LayerKind, EachNameIsInTheTableOnceAndFindsItself) {
  std::set<std::string> names;
  for (const LayerKind* kind : layer_kinds()) {
    EXPECT_TRUE(names.insert(kind->name).second) << kind->name;
    EXPECT_EQ(&layer_kind(kind->name, ""), kind);
  }
}

TEST(LayerKind, OptionsAreReadWrittenAndDefaultedByTheKindsThatAreNamed) {
  const DrafterConfig config =
      parse(std::string(kHeads) + R"("layer_types": ["full_attention", "full_attention"])");
  EXPECT_EQ(config.layer_option("num_key_value_heads"), 4);
  const JsonObject written = to_json(config);
  EXPECT_EQ(written.at("sliding_window"), 0);  // as every segment id of such drafters has it
  EXPECT_EQ(to_json(drafter_config_from_json(written, "plan.json")), written);
}

TEST(LayerKind, AMissingOptionAndOneThatNoLayerReadsAreErrors) {
  EXPECT_THAT(refusal(R"("head_dim": 8, "layer_types": ["full_attention"])"),
              HasSubstr("num_attention_heads"));
  EXPECT_THAT(refusal(std::string(kHeads) + R"("layer_types": ["sliding_attention"])"),
              HasSubstr("drafter.sliding_window: must be at least 1, is 0"));
  EXPECT_THAT(
      refusal(std::string(kHeads) + R"("layer_types": ["full_attention"], "sliding_window": 5)"),
      HasSubstr("no layer slides"));
}

const char* const kRecurrence =
    R"("linear_num_key_heads": 2, "linear_num_value_heads": 4, "linear_key_head_dim": 8,
       "linear_value_head_dim": 6, )";

TEST(LayerKind, ARecurrentDrafterHasNoOptionsOfAttentionAndAnAttentiveOneNoneOfTheRecurrence) {
  const DrafterConfig recurrent =
      parse(std::string(kRecurrence) + R"("layer_types": ["gated_delta_net"])");
  EXPECT_EQ(recurrent.layer_option("linear_conv_kernel_dim"), 4);
  const JsonObject written = to_json(recurrent);
  EXPECT_FALSE(written.contains("head_dim") || written.contains("sliding_window"));
  EXPECT_EQ(to_json(drafter_config_from_json(written, "plan.json")), written);
  const DrafterConfig attentive =
      parse(std::string(kHeads) + R"("layer_types": ["full_attention"])");
  for (const LayerOption& option : gated_delta_net().options)
    EXPECT_FALSE(to_json(attentive).contains(option.key)) << option.key;
}

TEST(LayerKind, MistakesInTheOptionsOfARecurrenceAreErrorsThatNameTheKey) {
  const std::string layers = R"("layer_types": ["gated_delta_net"])";
  EXPECT_THAT(refusal(R"("linear_num_key_heads": 3, "linear_num_value_heads": 4,
      "linear_key_head_dim": 8, "linear_value_head_dim": 6, )" +
                      layers),
              HasSubstr("drafter.linear_num_key_heads: must divide linear_num_value_heads (4)"));
  EXPECT_THAT(refusal(std::string(kRecurrence) + R"("linear_conv_kernel_dim": 0, )" + layers),
              HasSubstr("drafter.linear_conv_kernel_dim: must be at least 1, is 0"));
  EXPECT_THAT(refusal(R"("linear_num_key_heads": 2, )" + layers),
              HasSubstr("linear_num_value_heads"));
  EXPECT_THAT(refusal(std::string(kRecurrence) + R"("head_dim": 8, )" + layers),
              HasSubstr("drafter.head_dim: is given, but no layer reads it; remove it or name a "
                        "\"full_attention\" layer"));
  EXPECT_THAT(refusal(std::string(kHeads) + R"("linear_key_head_dim": 8,
      "layer_types": ["full_attention"])"),
              HasSubstr("drafter.linear_key_head_dim: is given, but no layer reads it; remove it "
                        "or name a \"gated_delta_net\" layer"));
}

TEST(LayerKind, ARecurrenceHasTheTensorsOfHuggingFacesQwen) {
  // The layer of Qwen3.6-27B.
  DrafterConfig config{.hidden_size = 5120};
  config.layer_options = {{"linear_num_key_heads", 16},
                          {"linear_num_value_heads", 48},
                          {"linear_key_head_dim", 128},
                          {"linear_value_head_dim", 128},
                          {"linear_conv_kernel_dim", 4}};
  std::map<std::string, std::vector<int64_t>> shapes;
  for (const ParameterShape& shape : gated_delta_net().parameters(config))
    shapes[shape.name] = shape.shape;
  const std::map<std::string, std::vector<int64_t>> expected = {
      {"linear_attn.A_log", {48}},
      {"linear_attn.conv1d.weight", {10240, 1, 4}},
      {"linear_attn.dt_bias", {48}},
      {"linear_attn.in_proj_a.weight", {48, 5120}},
      {"linear_attn.in_proj_b.weight", {48, 5120}},
      {"linear_attn.in_proj_qkv.weight", {10240, 5120}},
      {"linear_attn.in_proj_z.weight", {6144, 5120}},
      {"linear_attn.norm.weight", {128}},
      {"linear_attn.out_proj.weight", {5120, 6144}}};
  EXPECT_EQ(shapes, expected);
}

TEST(LayerKind, ARecurrenceStartsWithDecaysFromARowToThousands) {
  DrafterConfig config{.hidden_size = 8};
  config.layer_options = {{"linear_num_key_heads", 1},
                          {"linear_num_value_heads", 1},
                          {"linear_key_head_dim", 4},
                          {"linear_value_head_dim", 4},
                          {"linear_conv_kernel_dim", 4}};
  std::map<std::string, std::function<double(Random&)>> initial;
  for (const ParameterShape& shape : gated_delta_net().parameters(config))
    initial[shape.name] = shape.initial;
  Random random(1, "test");
  double largest_rate = 0, sum = 0, smallest_dt = 1, largest_dt = 0, largest_tap = 0;
  for (int i = 0; i < 20000; ++i) {
    const double rate = std::exp(initial.at("linear_attn.A_log")(random));
    ASSERT_TRUE(rate > 0 && rate <= 16);
    largest_rate = std::max(largest_rate, rate);
    sum += rate;
    const double dt = std::log1p(std::exp(initial.at("linear_attn.dt_bias")(random)));
    smallest_dt = std::min(smallest_dt, dt);
    largest_dt = std::max(largest_dt, dt);
    largest_tap = std::max(largest_tap, std::abs(initial.at("linear_attn.conv1d.weight")(random)));
  }
  EXPECT_NEAR(sum / 20000, 8, 4 * 16 / std::sqrt(12 * 20000.0));
  EXPECT_NEAR(largest_rate, 16, 0.05);
  EXPECT_NEAR(smallest_dt, 1e-3, 1e-5);
  EXPECT_NEAR(largest_dt, 1e-1, 1e-3);
  EXPECT_TRUE(largest_tap > 0.499 && largest_tap <= 0.5);
  EXPECT_FALSE(initial.at("linear_attn.norm.weight")) << "starts at 1";
}

// QK-clip finds the weights that it changes by these names.
TEST(LayerKind, TheNormsOfQueriesAndKeysAreTensorsOfTheLayer) {
  const DrafterConfig config = parse(std::string(kHeads) + R"("layer_types": ["full_attention"])");
  for (const LayerKind* kind : {&full_attention(), &sliding_attention()}) {
    std::set<std::string> names;
    for (const ParameterShape& shape : kind->parameters(config)) names.insert(shape.name);
    EXPECT_TRUE(names.contains(kind->query_norm)) << kind->name;
    EXPECT_TRUE(names.contains(kind->key_norm)) << kind->name;
  }
}

}  // namespace
}  // namespace draftlab

#include "record/layers/layer_kind.h"

#include <gmock/gmock.h>

#include <set>

#include "base/error.h"
#include "base/json.h"

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
  EXPECT_THAT([] { layer_kind("mamba", "s.json: layer_types[2]"); },
              ThrowsMessage<Error>(AllOf(HasSubstr("s.json: layer_types[2]: 'mamba' is not known"),
                                         HasSubstr("full_attention sliding_attention"))));
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

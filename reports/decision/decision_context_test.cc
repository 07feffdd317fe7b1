#include "reports/decision/decision_context.h"

#include <gmock/gmock.h>

#include <functional>

#include "base/error.h"
#include "source_dir.h"

namespace draftlab {
namespace {

using ::testing::HasSubstr;

const std::string kStory = std::string(DRAFTLAB_SOURCE_DIR) + "/sweeps/decide_story.json";

JsonObject story() { return read_json(kStory).as_object(); }

TEST(DecisionContext, TheStoryStandsAtFortyPercentOfItsWarmUp) {
  const DecisionContext context = read_decision_context(kStory);
  EXPECT_NEAR(static_cast<double>(context.parameters), 1.73e9, 1e7);
  EXPECT_TRUE(context.place.in_warmup());
  EXPECT_NEAR(context.place.share_of_warmup(), 0.4, 1e-4);
  EXPECT_NEAR(context.place.share_of_training(), 0.0853, 1e-4);
  EXPECT_EQ(context.place.warmup_steps, 38663);
  // Eight days at the producers' 0.24 batches/s are left.
  EXPECT_EQ(context.pipeline.optimizers[0].batches_to_target.value, 8 * 86400 * 0.24);
  EXPECT_NEAR(context.pipeline.batches_left(), 165888, 1e-6);
}

TEST(DecisionContext, ARateBehindTheWarmUpNeedsItsLength) {
  JsonObject json = story();
  JsonObject& run = json["run"].as_object();
  run["step"] = 120000;  // 40 % of the peak: the decay after 20,000 steps, or a warm-up of 300,000
  EXPECT_THROW(parse_decision_context(json, "c.json"), Error);
  run["warmup_steps"] = 20000;
  EXPECT_FALSE(parse_decision_context(json, "c.json").place.in_warmup());
}

TEST(DecisionContext, TokensABatchFollowFromTheRatesAndNumbersThatDisagreeAreAnError) {
  JsonObject json = story();
  JsonObject& run = json["run"].as_object();
  run.erase("tokens_per_batch");
  // 16,000 tokens a second, of which the producers make 0.24 batches.
  EXPECT_NEAR(parse_decision_context(json, "c.json").tokens_per_batch.value, 16000 / 0.24, 1e-6);
  run["tokens_per_batch"] = 16384;
  EXPECT_THAT([&] { parse_decision_context(json, "c.json"); },
              ::testing::ThrowsMessage<Error>(
                  ::testing::AllOf(HasSubstr("c.json: run.tokens_per_batch: is 16384"),
                                   HasSubstr("0.240 batches a second are 66,667 a batch"))));
  run["tokens_per_batch"] = 61000;  // within a tenth
  EXPECT_EQ(parse_decision_context(json, "c.json").tokens_per_batch.low, 61000);
  run.erase("tokens_per_second");
  run["tokens_per_batch"] = JsonObject{{"low", 5e4}, {"value", 6e4}, {"high", 7e4}};
  EXPECT_EQ(parse_decision_context(json, "c.json").tokens().high, 7e4 * 181353);
  run.erase("tokens_per_batch");
  EXPECT_THROW(parse_decision_context(json, "c.json"), Error);
}

// "17 % of epoch 1 of 6" makes the same step 2.8 % of the training.
TEST(DecisionContext, FactsThatCanBeReadInTwoWaysAreTwoContexts) {
  const std::vector<DecisionContext> readings = parse_decision_readings(story(), "c.json");
  ASSERT_EQ(readings.size(), 2u);
  EXPECT_NEAR(readings[0].place.share_of_training(), 0.085, 0.001);
  EXPECT_NEAR(readings[1].place.share_of_training(), 0.028, 0.001);
  const double seconds = readings[1].pipeline.optimizers[0].batches_to_target.value / 0.24;
  EXPECT_NEAR(seconds / 86400, 26, 0.5);
  EXPECT_EQ(readings[1].loss, readings[0].loss);
  JsonObject json = story();
  json["readings"].as_array()[0].as_object()["run"].as_object()["stepps"] = 1;
  EXPECT_THAT([&] { parse_decision_readings(json, "c.json"); },
              ::testing::ThrowsMessage<Error>(HasSubstr("c.json: readings[0]")));
}

TEST(DecisionContext, NamesEveryMistake) {
  const struct {
    const char* says;
    std::function<void(JsonObject&)> mistake;
  } cases[] = {
      {"c.json: optimzers", [](JsonObject& j) { j["optimzers"] = 1; }},
      {"c.json: optimizers.candidate",
       [](JsonObject& j) { j["optimizers"].as_object()["candidate"] = "adamw"; }},
      {"c.json: drafter.parameters",
       [](JsonObject& j) { j["drafter"].as_object()["parameters"] = 7e9; }},
      {"c.json: run.rate", [](JsonObject& j) { j["run"].as_object()["rate"] = 1e-3; }},
      {"c.json: run.steps", [](JsonObject& j) { j["run"].as_object()["steps"] = 100; }},
      {"c.json: pipeline.training",
       [](JsonObject& j) { j["pipeline"].as_object()["training"] = 1; }},
      {"c.json: pipeline.step_seconds",
       [](JsonObject& j) { j["pipeline"].as_object().erase("step_seconds"); }},
      {"c.json: pipeline.producers",
       [](JsonObject& j) { j["pipeline"].as_object().erase("producers"); }},
      {"low <= value <= high",
       [](JsonObject& j) {
         j["optimizers"].as_object()["step_ratio"] = {{"low", 2}, {"value", 1}, {"high", 3}};
       }},
  };
  for (const auto& each : cases) {
    JsonObject json = story();
    each.mistake(json);
    try {
      parse_decision_context(json, "c.json");
      ADD_FAILURE() << each.says;
    } catch (const Error& error) {
      EXPECT_THAT(error.what(), HasSubstr(each.says));
    }
  }
}

TEST(DecisionContext, EvidenceNamesPillarsAndTheirFolders) {
  const auto with = [](const char* evidence) {
    Json json = read_json(std::string(DRAFTLAB_SOURCE_DIR) + "/sweeps/decide_story.json");
    json.as_object()["evidence"] = parse_json(evidence, "test");
    return parse_decision_context(json, "story");
  };
  const DecisionContext context = with(R"({"architecture": ["layers"]})");
  EXPECT_THAT(context.folders_of("architecture"), ::testing::ElementsAre("layers"));
  EXPECT_TRUE(context.folders_of("bottleneck").empty());
  EXPECT_ANY_THROW(with(R"({"architecture": []})"));
  EXPECT_ANY_THROW(with(R"({"layers": ["layers"]})"));
}

}  // namespace
}  // namespace draftlab

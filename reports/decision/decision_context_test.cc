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

}  // namespace
}  // namespace draftlab

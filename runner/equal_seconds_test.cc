#include "runner/equal_seconds.h"

#include <gmock/gmock.h>

#include "base/error.h"
#include "runner/planner.h"
#include "testing/example_sweep.h"

namespace draftlab {
namespace {

using ::testing::HasSubstr;
using Changes = std::vector<std::pair<std::string, std::string>>;

const Changes kTwoArms = {
    {"/training/steps", "100"},
    {"/arms/1", R"({"name": "muon", "optimizer": {"kind": "muon", "learning_rate": 0.01}})"},
    {"/compare", R"({"seconds": 20, "step_seconds": {"adamw": 0.2, "muon": 0.3}})"}};

Sweep sweep_with(const Changes& more = {}) {
  Changes changes = kTwoArms;
  changes.insert(changes.end(), more.begin(), more.end());
  return example_sweep(changes);
}

std::string refusal(const Changes& more) {
  try {
    sweep_with(more);
  } catch (const Error& error) {
    return error.what();
  }
  return "nothing was refused";
}

TEST(EqualSeconds, EachArmHasTheStepsThatFitTheBudgetAndItsScheduleEndsThere) {
  const PlanRecord plan = make_plan(sweep_with(), example_store());
  ASSERT_EQ(plan.segments.size(), 2u);
  const int64_t steps[] = {100, 66};
  for (size_t i = 0; i < 2; ++i) {
    const SegmentConfig& config = plan.segments[i].config;
    EXPECT_EQ(config.training.steps, steps[i]);
    EXPECT_EQ(config.to_step, steps[i]);
    EXPECT_EQ(config.evaluation.steps.back(), steps[i]);
  }
}

TEST(EqualSeconds, UntilStepsWereTimedTheFilesOwnCount) {
  const Sweep sweep = sweep_with({{"/compare", "\"seconds\""}});
  EXPECT_FALSE(sweep.equal_seconds->is_resolved());
  EXPECT_EQ(make_plan(sweep, example_store()).segments[1].config.training.steps, 100);
}

TEST(EqualSeconds, WhatIsResolvedIsReadAgainAsItWasWritten) {
  const EqualSeconds compare = *sweep_with().equal_seconds;
  const EqualSeconds again = parse_equal_seconds(Json(to_json(compare)), "again");
  EXPECT_EQ(again.budget, compare.budget);
  EXPECT_EQ(again.step_seconds, compare.step_seconds);
}

TEST(EqualSeconds, MistakesAreErrorsAtTheirKey) {
  EXPECT_THAT(refusal({{"/compare", "\"hours\""}}), HasSubstr("compare"));
  EXPECT_THAT(refusal({{"/compare", R"({"seconds": 0})"}}),
              HasSubstr("compare.seconds: must be seconds, above 0"));
  EXPECT_THAT(refusal({{"/compare", R"({"step_seconds": {"adamw": 1}})"}}),
              HasSubstr("needs the budget too"));
  EXPECT_THAT(refusal({{"/compare", R"({"seconds": 1, "step_seconds": {"adamw": 0.2}})"}}),
              HasSubstr("has no seconds of a step for 'muon'"));
  EXPECT_THAT(
      refusal({{"/compare", R"({"seconds": 0.1, "step_seconds": {"adamw": 0.2, "muon": 0.3}})"}}),
      HasSubstr("holds not one step of 'adamw'"));
  EXPECT_THAT(refusal({{"/compare", R"({"seconds": 1, "minutes": 2})"}}), HasSubstr("minutes"));
  EXPECT_THAT(
      refusal({{"/compare",
                R"({"seconds": 9, "step_seconds": {"adamw": 0.2, "muon": 0.3, "mion": 0.3}})"}}),
      HasSubstr("compare.step_seconds.mion: is no arm of this sweep"));
  EXPECT_THAT(
      refusal({{"/compare", R"({"seconds": 1e300, "step_seconds": {"adamw": 0.2, "muon": 0.3}})"}}),
      HasSubstr("which nobody can train"));
  EXPECT_THAT(refusal({{"/arms/0/switches", R"([{"at": 5}])"}}),
              HasSubstr("cannot go with \"compare\": \"seconds\""));
}

}  // namespace
}  // namespace draftlab

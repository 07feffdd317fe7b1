// Whether the target is reached sooner with the candidate.
#include <gmock/gmock.h>

#include <cmath>

#include "reports/decision/decision.h"
#include "reports/decision/kind_pair.h"
#include "testing/synthetic_pairs.h"

namespace draftlab {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

Pillar bottleneck(double muon, double step_ratio, double scatter = 0.01, int64_t seeds = 3) {
  std::vector<Result> results;
  add_pair(results, {}, 1.5, muon, scatter, step_ratio, seeds);
  std::vector<Study> studies;
  studies.push_back(study_of(std::move(results)));
  return bottleneck_pillar(kind_pairs(studies, "adamw", "muon"), story());
}

TEST(Bottleneck, FollowsStepsToTheTargetAndTheLengthOfAStep) {
  const Pillar faster = bottleneck(0.5, 1.2);
  EXPECT_EQ(faster.verdict, Verdict::kFor) << faster.reason;
  EXPECT_GT(faster.margin, 1);
  EXPECT_THAT(faster.settle, IsEmpty());
  // Fewer batches are needed, and a step 20 % slower costs nothing: the producers set the pace.
  EXPECT_THAT(faster.numbers,
              Contains(AllOf(Field(&PillarNumber::what, HasSubstr("time to the target, online")),
                             Field(&PillarNumber::value, ::testing::DoubleNear(0.818, 0.005)))));
  EXPECT_EQ(bottleneck(1.9, 1).verdict, Verdict::kAgainst);
  // Three times the seconds of a step are more than the producers' pace hides.
  EXPECT_EQ(bottleneck(0.5, 3).verdict, Verdict::kAgainst);
  const Pillar unsure = bottleneck(1.53, 1, 0.4);
  EXPECT_EQ(unsure.verdict, Verdict::kUndecided);
  EXPECT_LT(unsure.margin, 1);
  EXPECT_THAT(unsure.settle, Not(IsEmpty()));
}

// Muon's update over the passes: 1.16 at 16,384 tokens a batch where the head is forgotten, 0.29 at
// 66,700, and 0.19 with the head.
TEST(Bottleneck, TheFrozenHeadCountsAmongThePasses) {
  DecisionContext context = story();
  const auto share = [&](double tokens) {
    context.tokens_per_batch = {tokens, tokens, tokens};
    std::vector<Result> results;
    add_pair(results, {}, 1.5, 0.5);
    std::vector<Study> studies;
    studies.push_back(study_of(std::move(results)));
    for (const PillarNumber& number :
         bottleneck_pillar(kind_pairs(studies, "adamw", "muon"), context).numbers) {
      if (number.what.starts_with("operations of one update")) return number.value;
    }
    return NAN + 0.0;
  };
  const double head = 4. * 5120 * 248320, weights = 6 * static_cast<double>(context.parameters);
  EXPECT_NEAR(share(66700), 0.19, 0.005);
  EXPECT_NEAR(share(66700) * (weights + head) / weights, 0.29, 0.006);
  EXPECT_NEAR(share(16384) * (weights + head) / weights, 1.16, 0.01);
}

// Seeds that share one timing agree about a step for certain and for no reason.
TEST(Bottleneck, AStepTimedAloneHasTheIntervalOfItsQuartiles) {
  std::vector<Result> results;
  add_pair(results, {}, 1.5, 0.5);
  for (Result& run : results) {
    const double step = run.optimizer.kind == "muon" ? 0.2 : 0.1;
    run.probe.emplace();
    for (const double factor : {0.8, 0.9, 1.0, 1.1, 1.2})
      run.probe->steps.push_back({.forward = factor * step});
    run.seconds_from_probe = true;
  }
  std::vector<Study> studies;
  studies.push_back(study_of(std::move(results)));
  const Pillar pillar = bottleneck_pillar(kind_pairs(studies, "adamw", "muon"), story());
  const PillarNumber& step = pillar.numbers.at(1);
  EXPECT_NEAR(step.value, 2, 1e-12);
  EXPECT_NEAR(step.low, 2 * 0.9 / 1.1, 1e-12);
  EXPECT_NEAR(step.high, 2 * 1.1 / 0.9, 1e-12);
  EXPECT_EQ(step.n, 5);
}

TEST(Bottleneck, DoesNotSpeakWhereACheckForbidsIt) {
  EXPECT_THAT(bottleneck(0.5, 1, 0.01, 2).reason, HasSubstr("F07"));
  std::vector<Result> results;
  add_pair(results, {}, 1.5, 0.5);
  results[1].held_out[2].tokens += 1;  // other data
  std::vector<Study> studies;
  studies.push_back(study_of(std::move(results)));
  const Pillar pillar = bottleneck_pillar(kind_pairs(studies, "adamw", "muon"), story());
  EXPECT_EQ(pillar.verdict, Verdict::kUndecided);
  EXPECT_THAT(pillar.reason, HasSubstr("F08"));
}

TEST(Bottleneck, RatiosAreOfRunsWithEqualSeeds) {
  EXPECT_EQ(bottleneck(0.5, 1).numbers.at(0).n, 3);
}

TEST(Bottleneck, TakesTheHighestLevelThatBothReachAndTellsTheOthers) {
  const std::vector<Study> studies = early_lead();
  const Pillar pillar = bottleneck_pillar(kind_pairs(studies, "adamw", "muon"), story());
  // Muon comes to 3 between steps 20 (3.5) and 30 (2.75), AdamW at step 30.
  const double highest = (20 + 10 * 0.5 / 0.75) / 30;
  EXPECT_NEAR(pillar.numbers.at(0).value, highest, 1e-3) << pillar.numbers.at(0).what;
  EXPECT_THAT(pillar.numbers,
              Contains(AllOf(Field(&PillarNumber::what, HasSubstr("loss 4.01")),
                             Field(&PillarNumber::value, ::testing::DoubleNear(0.5, 5e-3)))));
  EXPECT_THAT(pillar.limits, Contains(HasSubstr("mid-schedule")));
}

TEST(Bottleneck, TakesStepsFromAnnealedEndsWhereThereAreSome) {
  const std::vector<Study> studies = budgets({2, 2, 2});
  const DecisionContext context = story();
  const Decision decision = decide(studies, context);
  const Pillar &time = decision.pillars.front(), &returns = decision.pillars.back();
  ASSERT_TRUE(returns.steps);
  EXPECT_NEAR(returns.steps->value, 0.5, 0.01);
  EXPECT_EQ(time.numbers.at(0).value, returns.steps->value);
  EXPECT_THAT(time.limits, Not(Contains(HasSubstr("mid-schedule"))));
}

TEST(Bottleneck, SaysThatATargetWasNotReached) {
  const Pillar pillar = bottleneck(4, 1);
  EXPECT_EQ(pillar.verdict, Verdict::kUndecided);
  EXPECT_THAT(pillar.reason, HasSubstr("Muon  in 0 of 3 runs"));
}

}  // namespace
}  // namespace draftlab

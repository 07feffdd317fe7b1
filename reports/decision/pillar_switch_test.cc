// What the change itself costs, and what the rest of a run gains behind it.
#include <gmock/gmock.h>

#include "reports/decision/kind_pair.h"
#include "reports/decision/pillar.h"
#include "testing/synthetic_pairs.h"

namespace draftlab {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::HasSubstr;

Pillar switching(double end, double scatter = 0.01, bool resumed = true, double repeat = 0,
                 double (*accepted)(const Result&) = nullptr) {
  const StartConfig transfer;
  const SyntheticPath a{"A", kAdamW}, again{"A'", kAdamW, {{20, "", transfer}}},
      b{"B", kAdamW, {{20, kMuon, transfer}}};
  std::vector<Result> results;
  for (int64_t seed = 1; seed <= 3; ++seed) {
    const double s = noise(seed, 0.01);
    results.push_back(synthetic_run(a, seed, {6, 5, 4, 3.5 + s, 3 + s}));
    if (resumed) results.push_back(synthetic_run(again, seed, {6, 5, 4, 3.5 + s, 3 + s + repeat}));
    results.push_back(synthetic_run(b, seed, {6, 5, 4, 4, end + noise(seed % 3 + 1, scatter)}));
  }
  if (accepted != nullptr) accept_as_with(results, accepted);
  std::vector<Study> studies;
  studies.push_back(study_of(std::move(results)));
  return switch_pillar(studies, story());
}

TEST(SwitchPillar, FollowsTheFinalDifference) {
  EXPECT_EQ(switching(2.5).verdict, Verdict::kFor) << switching(2.5).reason;
  EXPECT_EQ(switching(3.5).verdict, Verdict::kAgainst);
  const Pillar unsure = switching(2.9, 0.5);
  EXPECT_EQ(unsure.verdict, Verdict::kUndecided);
  EXPECT_THAT(unsure.reason, HasSubstr("would show 8 times in 10"));
}

// From step 20 on: the run that went on is at 3.25 after 15 steps, the one that changed after
// 5 steps, and it was behind the level before.
TEST(TimeBehindTheSwitch, CountsStepsFromTheSwitchOn) {
  const StartConfig transfer;
  const auto pillar_of_ends = [&](const std::vector<double>& changed) {
    std::vector<Result> results;
    for (int64_t seed = 1; seed <= 3; ++seed) {
      const double s = noise(seed, 1e-3);
      const std::vector<double> stayed = {6, 5, 4, 3.5 + s, 3};
      results.push_back(synthetic_run({"A", kAdamW}, seed, stayed));
      results.push_back(synthetic_run({"A'", kAdamW, {{20, "", transfer}}}, seed, stayed));
      results.push_back(synthetic_run({"B", kAdamW, {{20, kMuon, transfer}}}, seed, changed));
    }
    std::vector<Study> studies;
    studies.push_back(study_of(std::move(results), 3.6));
    DecisionContext context = story();
    context.step_ratio = {1, 1, 1};
    return behind_switch_pillar(studies, {}, context);
  };
  const Pillar sooner = pillar_of_ends({6, 5, 4, 3, 2});
  EXPECT_EQ(sooner.verdict, Verdict::kFor) << sooner.reason;
  EXPECT_NEAR(sooner.numbers.at(0).value, 0.5, 0.01) << sooner.numbers.at(0).what;
  const Pillar later = pillar_of_ends({6, 5, 4, 3.75, 3.3});
  EXPECT_EQ(later.verdict, Verdict::kUndecided) << "it does not come to the target twice";
  EXPECT_EQ(pillar_of_ends({6, 5, 4, 3.58, 3.4}).verdict, Verdict::kAgainst);
}

TEST(TimeBehindTheSwitch, IsOpenWithoutASwitch) {
  const std::vector<Study> studies = early_lead();
  const Pillar pillar =
      behind_switch_pillar(studies, kind_pairs(studies, "adamw", "muon"), story());
  EXPECT_EQ(pillar.verdict, Verdict::kUndecided);
  EXPECT_THAT(pillar.reason, HasSubstr("No folder holds finished runs that change"));
}

TEST(SwitchPillar, IsOpenWhereTheLossSaysTheOpposite) {
  const Pillar pillar = switching(2.5, 0.01, true, 0, [](const Result&) { return 3.5; });
  EXPECT_EQ(pillar.verdict, Verdict::kUndecided);
  EXPECT_THAT(pillar.reason, HasSubstr("Both differences may be claimed, and they disagree"));
}

TEST(SwitchPillar, NeedsAResumedRunThatRepeatsTheUninterruptedOne) {
  const Pillar missing = switching(2.5, 0.01, false);
  EXPECT_EQ(missing.verdict, Verdict::kUndecided);
  EXPECT_THAT(missing.reason, HasSubstr("Not verified"));
  const Pillar other = switching(2.5, 0.01, true, 1e-9);
  EXPECT_EQ(other.verdict, Verdict::kUndecided);
  EXPECT_THAT(other.reason, HasSubstr("Refused: A' seed=1"));
}

// The interval of the three that finished lies below 0, as in FollowsTheFinalDifference.
TEST(SwitchPillar, IsOpenWhereARunThatChangedDiverged) {
  const StartConfig transfer;
  std::vector<Result> results;
  for (int64_t seed = 1; seed <= 4; ++seed) {
    const double s = noise(seed, 0.01);
    const std::vector<double> losses = {6, 5, 4, 3.5 + s, 3 + s};
    results.push_back(synthetic_run({"A", kAdamW}, seed, losses));
    results.push_back(synthetic_run({"A'", kAdamW, {{20, "", transfer}}}, seed, losses));
    results.push_back(synthetic_run({"B", kAdamW, {{20, kMuon, transfer}}}, seed,
                                    {6, 5, 4, 4, 2.5 + noise(seed % 3 + 1, 0.01)}));
  }
  results.back().outcome = "diverged";
  std::vector<Study> studies;
  studies.push_back(study_of(std::move(results)));
  const Pillar pillar = switch_pillar(studies, story());
  EXPECT_EQ(pillar.verdict, Verdict::kUndecided) << pillar.reason;
}

TEST(SwitchPillar, SaysHowFarTheMeasuredSwitchLiesFromTheRun) {
  EXPECT_THAT(switching(2.5).limits,
              Contains(AllOf(HasSubstr("50.0 % of training"), HasSubstr("40 % of the warm-up"))));
}

}  // namespace
}  // namespace draftlab

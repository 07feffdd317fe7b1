#include "runner/halving.h"

#include <gmock/gmock.h>

#include <cmath>

#include "base/error.h"
#include "runner/difference.h"
#include "runner/tuning.h"
#include "testing/example_sweep.h"

namespace draftlab {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

using Changes = std::vector<std::pair<std::string, std::string>>;

// One AdamW arm with five rates on one tuning seed, judged at steps 30 and 60 of 120.
Sweep halved_sweep(const Changes& more = {}) {
  Changes changes = {{"/training/steps", "120"},
                     {"/evaluation", R"({"every": 50, "stride": 2})"},
                     {"/split", R"({"train": 6, "tuning": 2, "held_out": 2})"},
                     {"/seeds", "[1, 2]"},
                     {"/tuning", R"({"seeds": [11], "halving": {"at": [0.25, 0.5]}})"},
                     {"/arms/0/optimizer",
                      R"({"kind": "adamw", "learning_rate": [1e-3, 2e-3, 3e-3, 4e-3, 5e-3]})"}};
  changes.insert(changes.end(), more.begin(), more.end());
  return example_sweep(changes);
}

ArmTrials trials_at(int64_t step, const std::vector<std::pair<std::string, double>>& means) {
  ArmTrials arm{"adamw", step, {}};
  for (const auto& [rate, mean] : means)
    arm.scores.push_back({"lr=" + rate, !std::isnan(mean), std::isnan(mean), mean});
  return arm;
}

std::string refusal(const Changes& changes) {
  try {
    halved_sweep(changes);
  } catch (const Error& error) {
    return error.what();
  }
  return "nothing was refused";
}

TEST(Halving, TheBetterPointsGoOnFromEachRungAndTheBestOfTheLastRunsWithFreshSeeds) {
  const Sweep sweep = halved_sweep();
  const PlanRecord first = make_plan(sweep, example_store());
  ASSERT_EQ(first.runs.size(), 5u);
  EXPECT_EQ(first.runs[0].name, "adamw lr=0.001 seed=11 rung 1");
  for (const PlannedSegment& segment : first.segments) {
    EXPECT_EQ(segment.config.to_step, 30);
    EXPECT_EQ(segment.config.training.steps, 120);  // the schedule is that of the whole training
    EXPECT_THAT(segment.config.evaluation.steps, ElementsAre(0, 30, 50, 60, 100, 120));
  }

  const auto second = next_phase(
      sweep, example_store(),
      {trials_at(
          30, {{"0.001", 1.1}, {"0.002", 1.4}, {"0.003", NAN}, {"0.004", 1.3}, {"0.005", 1.2}})});
  ASSERT_TRUE(second);
  EXPECT_THAT(second->decisions[0].kept, ElementsAre("lr=0.002", "lr=0.004", "lr=0.005"));
  EXPECT_EQ(second->decisions[0].step, 30);
  ASSERT_EQ(second->runs.size(), 3u);  // half of five, rounded up
  EXPECT_EQ(second->runs[0].name, "adamw lr=0.002 seed=11 rung 2");
  EXPECT_EQ(second->runs[0].segments[0], first.runs[1].segments[0]);  // nothing is trained twice
  EXPECT_THAT(text_of(second->decisions[0]),
              HasSubstr("3 of 5 go on from step 30, by their acceptance_length on the tuning "
                        "split: lr=0.002 (1.400), lr=0.004 (1.300), lr=0.005 (1.200)"));

  const auto third = next_phase(sweep, example_store(),
                                {trials_at(60, {{"0.002", 1.4}, {"0.004", 1.5}, {"0.005", 1.2}})});
  ASSERT_TRUE(third);
  ASSERT_EQ(third->runs.size(), 2u);
  EXPECT_EQ(third->runs[0].name, "adamw lr=0.002 seed=11");  // as in the sweep
  EXPECT_EQ(third->runs[0].segments.size(), 3u);
  EXPECT_EQ(third->segments.back().config.to_step, 120);

  const auto final =
      next_phase(sweep, example_store(), {trials_at(120, {{"0.002", 1.6}, {"0.004", 1.5}})});
  ASSERT_TRUE(final);
  ASSERT_EQ(final->runs.size(), 2u);
  EXPECT_EQ(final->runs[0].name, "adamw lr=0.002 seed=1");
  EXPECT_EQ(final->runs[0].phase, kFinal);
  EXPECT_EQ(final->runs[0].segments.size(), 1u);
  EXPECT_EQ(final->decisions[0].step, 0);
}

TEST(Halving, ANaNNeverGoesOnThoughThereWouldBeRoomForIt) {
  const auto phase = next_phase(
      halved_sweep(), example_store(),
      {trials_at(
          30, {{"0.001", NAN}, {"0.002", 1.4}, {"0.003", NAN}, {"0.004", 1.3}, {"0.005", NAN}})});
  ASSERT_TRUE(phase);
  EXPECT_THAT(phase->decisions[0].kept, ElementsAre("lr=0.002", "lr=0.004"));
  const auto none = next_phase(
      halved_sweep(), example_store(),
      {trials_at(
          30, {{"0.001", NAN}, {"0.002", NAN}, {"0.003", NAN}, {"0.004", NAN}, {"0.005", NAN}})});
  EXPECT_FALSE(none);
}

TEST(Halving, AnArmWhoseTrialsAllDivergedHoldsNobodyBack) {
  Sweep sweep = halved_sweep();
  SweepArm other = sweep.arms[0];
  other.name = "hopeless";
  sweep.arms.push_back(other);
  ArmTrials dead = trials_at(
      30, {{"0.001", NAN}, {"0.002", NAN}, {"0.003", NAN}, {"0.004", NAN}, {"0.005", NAN}});
  dead.arm = "hopeless";
  const auto third =
      next_phase(sweep, example_store(),
                 {trials_at(60, {{"0.002", 1.4}, {"0.004", 1.5}, {"0.005", 1.2}}), dead});
  ASSERT_TRUE(third);
  ASSERT_EQ(third->runs.size(), 2u);
  EXPECT_EQ(third->segments.back().config.to_step, 120);
  EXPECT_THAT(text_of(third->decisions[1]), HasSubstr("every trial diverged"));
}

TEST(Halving, ASwitchKeepsItsPlaceWhereverTheRungsCutARun) {
  const Sweep sweep = halved_sweep(
      {{"/arms/0/switches",
        R"([{"at": 40, "rewarmup": 10, "optimizer": {"kind": "muon", "learning_rate": 0.01}}])"}});
  const auto last = next_phase(sweep, example_store(),
                               {trials_at(60, {{"0.002", 1.4}, {"0.004", 1.5}, {"0.005", 1.2}})});
  ASSERT_TRUE(last);
  std::vector<std::pair<int64_t, std::string>> pieces;
  for (const std::string& id : last->runs[0].segments) {
    for (const PlannedSegment& segment : last->segments) {
      if (segment.id != id) continue;
      pieces.emplace_back(segment.config.from_step, segment.config.optimizer.kind);
      EXPECT_EQ(segment.config.start.rewarmup, segment.config.from_step == 40 ? 10 : 0);
    }
  }
  EXPECT_THAT(pieces, ElementsAre(std::pair(0, "adamw"), std::pair(30, "adamw"),
                                  std::pair(40, "muon"), std::pair(60, "muon")));
  EXPECT_THAT(refusal({{"/arms/0/switches", R"([{"at": 55, "rewarmup": 10}])"}}),
              HasSubstr("falls on step 60, into the re-warm-up from step 55"));
}

TEST(Halving, RungsAreRefusedWhereTheyMakeNoSense) {
  const auto with = [](const char* halving) { return refusal({{"/tuning/halving", halving}}); };
  EXPECT_THAT(with(R"({"at": []})"), HasSubstr("tuning.halving.at: is an empty list"));
  EXPECT_THAT(with(R"({"at": [0.5, 0.5]})"), HasSubstr("at[1]: must lie behind the rung before it"));
  EXPECT_THAT(with(R"({"at": [1]})"), HasSubstr("at[0]: must be a share of the training"));
  EXPECT_THAT(with(R"({"at": [0.001]})"), HasSubstr("falls on step 0"));
  EXPECT_THAT(with(R"({"at": [0.5], "keep": 1})"), HasSubstr("keep: must be a share of the points"));
  EXPECT_THAT(with(R"({"at": [0.5], "rate": 1})"), HasSubstr("rate"));
  EXPECT_THAT(refusal({{"/tuning/extend", "1"}}), HasSubstr("cannot go with \"halving\""));
}

TEST(Halving, AnotherRungIsAnotherPlan) {
  const auto found = find_differences(
      make_plan(halved_sweep(), example_store()),
      make_plan(halved_sweep({{"/tuning/halving", R"({"at": [0.25, 0.6]})"}}), example_store()));
  EXPECT_THAT(text_of(found), HasSubstr("halving"));
}

TEST(Halving, TheCostThatIsToldCountsTheTrialsThatAreDropped) {
  const std::vector<PlanRecord> phases = example_phases(halved_sweep(), example_store());
  ASSERT_EQ(phases.size(), 3u);
  EXPECT_EQ(phases[0].runs.size(), 3u);
  EXPECT_EQ(phases[1].runs.size(), 2u);
  EXPECT_EQ(phases[2].runs.size(), 2u);
}

}  // namespace
}  // namespace draftlab

#include "testing/fair_study.h"

namespace draftlab {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST_F(FairnessTest, F07FewSeeds) {
  std::erase_if(study_.results,
                [](const Result& r) { return r.arm == "Muon" && r.seeds.data == 6; });
  const Findings findings = of("F07");
  ASSERT_THAT(findings, ElementsAre(finding(kRefuse, "Fewer than three finished seeds: Muon (2)"),
                                    finding(kWarn, "seeds 4, 5 and 6", "seeds 4 and 5")));
  EXPECT_THAT(findings[0].arms, ElementsAre("Muon"));
}

TEST_F(FairnessTest, F13RunsCutShortAndRunsWithoutAResult) {
  run("Muon", 0).held_out.pop_back();
  run("AdamW", 0).outcome = "failed";
  EXPECT_THAT(of("F13"), ElementsAre(finding(kRefuse, run("Muon", 0).run, "step 100 of 100"),
                                     finding(kWarn, "1 run of 6 has no result")));
}

TEST_F(FairnessTest, F15UnequalNumbersOfEvaluations) {
  for (size_t i = 0; i < 3; ++i) {
    auto& rows = run("Muon", i).held_out;
    rows.erase(rows.begin() + 1);
  }
  EXPECT_THAT(of("F15"),
              ElementsAre(finding(kWarn, "3 evaluations in 3 runs", "2 evaluations in")));
}

TEST_F(FairnessTest, F21ATargetThatNotAllReach) {
  for (EvaluationRow& row : run("Muon", 0).held_out) row.acceptance_length = 1.1;
  EXPECT_THAT(of("F21"), ElementsAre(finding(kInform, "Muon reached the target in 2 of 3 runs")));
}

TEST_F(FairnessTest, F21ATargetReachedOnlyAtTheEnd) {
  study_.plan.target.value = 1.302;
  EXPECT_THAT(of("F21"), ElementsAre(finding(kInform, run("AdamW", 0).run + " and 5 more runs",
                                             "in the last evaluation alone")));
}

TEST_F(FairnessTest, F22ASpeedUpOfSchedules) {
  study_.plan.target.value = 1.28;
  for (size_t i = 0; i < 3; ++i) {
    EvaluationRow row = run("AdamW", i).held_out.back();
    row.step = 99;
    run("AdamW", i).held_out.insert(run("AdamW", i).held_out.end() - 1, row);
  }
  EXPECT_THAT(of("F22"), IsEmpty());
  for (size_t i = 0; i < 3; ++i) run("Muon", i).config.training.steps = 200;
  EXPECT_THAT(of("F22"), ElementsAre(finding(kWarn,
                                             "AdamW reaches the target only where its "
                                             "schedule has come down",
                                             "Muon ends")));
}

TEST_F(FairnessTest, F22SpeaksWhereTheRateIsDownToATenthAndNotOfAConstantOne) {
  study_.plan.target.value = 1.28;
  for (size_t i = 0; i < 3; ++i) {
    run("Muon", i).config.training.steps = 200;
    auto& rows = run("AdamW", i).held_out;
    rows.insert(rows.end() - 1, 2, rows[1]);
    rows[2].acceptance_length = 1.1;
    rows[3].acceptance_length = 1.28;
  }
  // Of 100 steps with a warm-up of 4 the rate is below 10 % from step 81 on.
  for (const auto& [step, warned] : {std::pair<int64_t, bool>{80, false}, {82, true}}) {
    for (size_t i = 0; i < 3; ++i) {
      run("AdamW", i).held_out[2].step = step - 1;
      run("AdamW", i).held_out[3].step = step;
    }
    EXPECT_EQ(of("F22").size(), warned ? 1u : 0u) << step;
  }
  for (Result& run : study_.results) run.config.training.schedule = "constant";
  EXPECT_THAT(of("F22"), IsEmpty());
}

TEST_F(FairnessTest, F23Divergence) {
  add_trials("AdamW", "adamw");
  study_.results.back().outcome = "diverged";
  EXPECT_THAT(of("F23"), ElementsAre(finding(kInform, "1 run of 5 of AdamW diverged")));
  run("Muon", 1).outcome = "diverged";
  EXPECT_THAT(of("F23"), ElementsAre(finding(kInform, "1 run of 5 of AdamW diverged"),
                                     finding(kRefuse, "1 run of 3 of Muon diverged",
                                             "at the setting that is compared")));
}

TEST_F(FairnessTest, F23NotANumberAndLossesThatRise) {
  run("Muon", 1).held_out[1].loss = kNaN;
  run("AdamW", 0).held_out[2].loss = 11;
  const Findings findings = of("F23");
  EXPECT_THAT(findings, ElementsAre(finding(kRefuse, "Held-out numbers of " + run("Muon", 1).run),
                                    finding(kWarn, run("AdamW", 0).run, "(11.00 after 10.00)")));
}

TEST_F(FairnessTest, F29SeedsThatRepeatEachOther) {
  run("Muon", 2).held_out = run("Muon", 1).held_out;
  for (EvaluationRow& row : run("Muon", 2).held_out)
    row.data_hash = "6/" + std::to_string(row.step);
  const Findings findings = of("F29");
  EXPECT_THAT(findings,
              ElementsAre(finding(
                  kRefuse, run("Muon", 2).run + " repeated the numbers of " + run("Muon", 1).run)));
  EXPECT_THAT(findings[0].arms, ElementsAre("Muon"));
  // One training that two runs of the plan share is no copy.
  run("Muon", 2).segments = run("Muon", 1).segments;
  EXPECT_THAT(of("F29"), IsEmpty());
}

TEST_F(FairnessTest, F29LeavesSettingsThatTieToF36) {
  const auto trial = [&](double rate, double length) {
    add("Lion", "lion", rate, 1, length);
    study_.results.back().phase = kTrial;
    study_.results.back().stages.emplace_back().config = study_.results.back().config;
  };
  trial(1e-5, 1.2);
  trial(2e-5, 1.2);
  EXPECT_THAT(of("F29"), IsEmpty());
  EXPECT_THAT(of("F36"), ElementsAre(finding(kWarn, "All 2 settings of Lion tie")));
  trial(3e-5, 1.1);
  EXPECT_THAT(of("F29"), ElementsAre(finding(kRefuse, "repeated the numbers of Lion")))
      << "two of three alone say nothing of the rates";
}

TEST_F(FairnessTest, F31MeasuresThatDisagree) {
  for (size_t i = 0; i < 3; ++i) run("AdamW", i).held_out[2].loss = 5;
  EXPECT_THAT(of("F31"), ElementsAre(finding(kInform, "AdamW has the lowest loss (5.000)",
                                             "Muon the highest acceptance length (1.405)")));
}

TEST_F(FairnessTest, F33NoTarget) {
  study_.plan.target = {};
  EXPECT_THAT(of("F33"), ElementsAre(finding(kWarn, "The plan fixes no target")));
}

TEST_F(FairnessTest, F34ASecondBudgetSaysMore) {
  run("Muon", 0).config.training.steps = 200;
  EXPECT_THAT(of("F34"), IsEmpty());
}

TEST_F(FairnessTest, F39ArmsBelowABigramTable) {
  for (Result& r : study_.results) r.baselines->bigram_acceptance_length = 1.35;
  EXPECT_THAT(of("F39"), ElementsAre(finding(kWarn, "which accepts 1.350, stay AdamW (1.305)")));
  EXPECT_THAT(study_.findings.back().arms, ElementsAre("AdamW"));
  for (Result& r : study_.results) r.baselines->bigram_acceptance_length = 1.5;
  EXPECT_THAT(of("F39"), ElementsAre(finding(kWarn, "No arm is above a bigram table",
                                             "1.500: AdamW (1.305) and Muon (1.405)")));
}

}  // namespace
}  // namespace draftlab

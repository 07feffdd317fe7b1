#include "reports/study/comparison.h"

#include <gmock/gmock.h>

#include <cmath>
#include <list>
#include <vector>

namespace draftlab {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

// One setting per arm with these final acceptance lengths, one a seed.
Study study_of(const std::vector<std::pair<std::string, std::vector<double>>>& arms) {
  Study study;
  for (const auto& [name, lengths] : arms) {
    for (size_t i = 0; i < lengths.size(); ++i) {
      Result r;
      r.arm = name;
      r.run = name + " seed=" + std::to_string(i + 1);
      r.optimizer = parse_optimizer_config(JsonObject{{"kind", "adamw"}}, "test");
      r.seeds.weights = r.seeds.data = r.seeds.noise = static_cast<int64_t>(i) + 1;
      r.outcome = "done";
      r.steps = r.config.training.steps = 100;
      EvaluationRow row;
      row.step = 100;
      row.train_seconds = 10;
      row.acceptance_length = lengths[i];
      r.held_out.push_back(row);
      study.results.push_back(std::move(r));
    }
  }
  study.summary = summarize(study.results, {});
  return study;
}

constexpr auto kLength = Measure::kAcceptanceLength;

TEST(Comparisons, OfManyArmsTheTableHasTheReferenceTheQuestionsAndTheBest) {
  const auto of_arms = [](size_t count) {
    std::vector<std::pair<std::string, std::vector<double>>> arms;
    for (size_t i = 0; i < count; ++i) {
      const double length = 1.3 + 0.001 * static_cast<double>(i * 37 % count);
      arms.push_back({"arm " + std::to_string(i), {length, length + 0.01, length + 0.03}});
    }
    return study_of(arms);
  };
  const Study few = of_arms(kArmsOfAllPairs);
  const auto all_of_few = comparisons(few, kLength, View::kEqualSteps);
  EXPECT_EQ(tabulated(few, all_of_few, kLength, View::kEqualSteps).size(), 40u * 39 / 2);

  const Study many = of_arms(101);
  const auto all = comparisons(many, kLength, View::kEqualSteps);
  ASSERT_EQ(all.size(), 101u * 100 / 2);
  const auto shown = tabulated(many, all, kLength, View::kEqualSteps);
  // Arm 0 is the reference, and the worst.
  EXPECT_EQ(shown.size(), 100u + 40 * 39 / 2);
  const auto value = [](const Arm* arm) { return std::stoi(arm->name.substr(4)) * 37 % 101; };
  for (const Comparison& one : shown) {
    EXPECT_TRUE(value(one.a) == 0 || (value(one.a) > 60 && value(one.b) > 60))
        << one.a->name << " and " << one.b->name;
    EXPECT_EQ(comparison_of(all, *one.a, *one.b).p, one.p);
    EXPECT_EQ(one.asked, value(one.a) == 0);
    if (one.asked) {
      EXPECT_EQ(one.pairs, 100) << "adjusted for all questions";
    }
  }
}

TEST(Comparisons, AreOfAllPairsAndAdjustedForTheQuestionsAlone) {
  const Study study = study_of(
      {{"A", {1.20, 1.21, 1.22}}, {"B", {1.302, 1.31, 1.321}}, {"C", {1.303, 1.314, 1.323}}});
  const auto all = comparisons(study, kLength, View::kEqualSteps);
  ASSERT_EQ(all.size(), 3u);
  // Every arm against the reference, where the sweep asks nothing else.
  const std::vector<double> adjusted = holm({all[0].p, all[1].p});
  for (size_t i = 0; i < 2; ++i) {
    EXPECT_TRUE(all[i].asked);
    EXPECT_EQ(all[i].pairs, 2);
    EXPECT_EQ(all[i].adjusted_p, adjusted[i]);
    EXPECT_TRUE(all[i].claimed());
  }
  EXPECT_FALSE(all[2].asked);  // B and C
  EXPECT_FALSE(all[2].claimed());
  EXPECT_EQ(verdict(all[2], kLength), "no claim: not asked");
  for (const Comparison& one : comparisons(study, Measure::kLoss, View::kEqualSteps))
    EXPECT_FALSE(one.asked);
  for (const Comparison& one : comparisons(study, kLength, View::kEqualSeconds))
    EXPECT_FALSE(one.asked);
}

TEST(Comparisons, TheQuestionsOfTheSweepAreTheFamilyWhateverTheirMeasure) {
  Study study = study_of(
      {{"A", {1.20, 1.21, 1.22}}, {"B", {1.302, 1.31, 1.321}}, {"C", {1.303, 1.314, 1.323}}});
  study.plan.sweep = parse_json(R"({
    "arms": [{"name": "A"}, {"name": "B"}, {"name": "C"}],
    "questions": [{"arm": "C", "against": "B"},
                  {"arm": "B", "against": "A", "measure": "val_loss"}]})",
                                "test");
  const auto all = comparisons(study, kLength, View::kEqualSteps);
  EXPECT_FALSE(all[0].asked);
  EXPECT_FALSE(all[1].asked);
  EXPECT_TRUE(all[2].asked);
  EXPECT_EQ(all[2].pairs, 2) << "the other measure's question counts";
  EXPECT_NEAR(all[2].adjusted_p, 2 * all[2].p, 1e-15);
  EXPECT_TRUE(comparisons(study, Measure::kLoss, View::kEqualSteps)[0].asked);
}

TEST(Comparisons, OnePairAskedInBothMeasuresIsTwoQuestions) {
  Study study = study_of({{"A", {1, 1, 1}}, {"B", {1.03, 1.04, 1.06}}});
  for (Result& r : study.results) r.held_out.back().loss = 5 - r.held_out.back().acceptance_length;
  study.summary = summarize(study.results, {});
  study.plan.sweep = parse_json(R"({
    "arms": [{"name": "A"}, {"name": "B"}],
    "questions": [{"arm": "B", "against": "A"},
                  {"arm": "B", "against": "A", "measure": "val_loss"}]})",
                                "test");
  // Either has p 0.0390 (1 - t / sqrt(2 + t^2), t = 4.913) and would be a claim alone.
  for (const Measure measure : {kLength, Measure::kLoss}) {
    const Comparison one = comparisons(study, measure, View::kEqualSteps)[0];
    EXPECT_TRUE(one.asked);
    EXPECT_EQ(one.pairs, 2);
    EXPECT_NEAR(one.adjusted_p, 0.0780, 1e-4);
    EXPECT_FALSE(one.claimed());
  }
}

TEST(Comparisons, ADifferenceThatStandsAloneMayNotStandAmongMany) {
  // Differences 0.02, 0.03, 0.05: p 0.065 is none; 0.03, 0.04, 0.05 is one alone (p 0.020).
  const Study two = study_of({{"A", {1, 1, 1}}, {"B", {1.03, 1.04, 1.05}}});
  const Comparison alone = comparisons(two, kLength, View::kEqualSteps)[0];
  EXPECT_TRUE(alone.claimed());
  EXPECT_EQ(alone.interval.low, alone.difference.low);
  const Study four = study_of({{"A", {1, 1, 1}},
                               {"B", {1.03, 1.04, 1.05}},
                               {"C", {1.01, 0.98, 1.02}},
                               {"D", {0.97, 1.03, 1.0}}});
  const Comparison among = comparisons(four, kLength, View::kEqualSteps)[0];
  EXPECT_FALSE(among.claimed());
  EXPECT_THAT(comparison_text(among, kLength),
              AllOf(HasSubstr("no difference to B can be claimed (−0.040"),
                    HasSubstr("−0.084 to 0.004 over 3 paired seeds, p 0.061 adjusted for 3 "
                              "questions; one of 0.057 would show 8 times in 10")));
}

// Whether 0 is outside of it is whether the claim stands, at every p.
TEST(Comparisons, TheIntervalThatIsPrintedIsTheOneOfTheClaim) {
  for (const double shift : {0.0, 0.01, 0.02, 0.03, 0.04, 0.05, 0.06, 0.1}) {
    const Study study = study_of({{"A", {1, 1, 1, 1}},
                                  {"B", {1.03 + shift, 1.04 + shift, 1.05 + shift, 1.02 + shift}},
                                  {"C", {1.0 + shift, 0.96 + shift, 1.04 + shift, 1.01 + shift}},
                                  {"D", {0.99 + shift, 1.03 + shift, 1.0 + shift, 1.07 + shift}}});
    for (const Comparison& one : comparisons(study, kLength, View::kEqualSteps)) {
      if (!one.asked) continue;
      EXPECT_EQ(one.interval.low > 0 || one.interval.high < 0, one.claimed()) << shift;
      EXPECT_LE(one.interval.low, one.difference.low + 1e-12);
    }
  }
}

TEST(Comparisons, EqualWeightsUnderTwoNamesAreOneArm) {
  Study study = study_of(
      {{"A", {1.20, 1.21, 1.22}}, {"B", {1.302, 1.31, 1.321}}, {"A again", {1.20, 1.21, 1.22}}});
  for (Result& r : study.results)
    r.weights_hash = r.arm.substr(0, 1) + std::to_string(r.seeds.data);
  study.summary = summarize(study.results, {});
  EXPECT_FALSE(study.summary.arms[1].copy_of);
  EXPECT_EQ(study.summary.arms[2].copy_of, 0u);
  const auto all = comparisons(study, kLength, View::kEqualSteps);
  EXPECT_EQ(all[0].pairs, 1);
  EXPECT_FALSE(all[1].asked);  // A and A again
  EXPECT_FALSE(all[2].asked);
  study.plan.sweep = parse_json(R"({
    "arms": [{"name": "A"}, {"name": "B"}, {"name": "A again"}],
    "questions": [{"arm": "A again", "against": "B"}, {"arm": "A", "against": "B"},
                  {"arm": "A again", "against": "A"}]})",
                                "test");
  const auto listed = comparisons(study, kLength, View::kEqualSteps);
  EXPECT_EQ(listed[2].pairs, 1) << "asked twice under two names, and of itself";
  EXPECT_TRUE(listed[2].asked);  // B and A again
  EXPECT_FALSE(listed[0].asked);
  EXPECT_FALSE(listed[1].asked);
  study.plan.sweep = nullptr;
  study.results.back().weights_hash = "other";
  study.summary = summarize(study.results, {});
  EXPECT_FALSE(study.summary.arms[2].copy_of) << "one seed differs";
}

TEST(Comparisons, EqualDifferencesAreNoSurerThanOneBlockAllows) {
  Study study = study_of({{"A", {1, 1, 1}}, {"B", {1.001, 1.001, 1.001}}});
  for (Result& r : study.results) r.held_out.back().blocks = 100;
  const Comparison one = comparisons(study, kLength, View::kEqualSteps)[0];
  EXPECT_LT(one.difference.sd, 1e-12);
  // t = 0.001 / (0.01 / sqrt 3)
  EXPECT_NEAR(one.p, 0.878, 0.001);
  EXPECT_FALSE(one.claimed());
  // 3.264 standard deviations of one block, as for any spread of that size.
  EXPECT_NEAR(one.detectable(), 0.03264, 1e-5);
}

TEST(Comparisons, ADifferenceThatIsSurelySmallIsCalledNone) {
  Study study = study_of({{"A", {1, 1, 1}}, {"B", {1.002, 0.999, 1.001}}});
  EXPECT_EQ(verdict(comparisons(study, kLength, View::kEqualSteps)[0], kLength),
            "no claim: adjusted p above 0.05");
  study.plan.sweep = parse_json(R"({"same": 0.02, "arms": []})", "test");
  const Comparison one = comparisons(study, kLength, View::kEqualSteps)[0];
  EXPECT_TRUE(one.equivalent());
  EXPECT_FALSE(one.claimed());
  EXPECT_EQ(verdict(one, kLength), "no difference beyond 0.02");
  EXPECT_THAT(comparison_text(one, kLength), HasSubstr("no difference to B beyond 0.02 (−0.001"));
  study.plan.sweep = parse_json(R"({"same": 0.002, "arms": []})", "test");
  EXPECT_FALSE(comparisons(study, kLength, View::kEqualSteps)[0].equivalent());
}

TEST(Comparisons, AMarginOfTheDecidingMeasureSaysNothingOfTheOther) {
  Study study = study_of({{"A", {1, 1, 1}}, {"B", {1.002, 0.999, 1.001}}});
  for (Result& r : study.results) r.held_out.back().loss = 5 - r.held_out.back().acceptance_length;
  study.summary = summarize(study.results, {});
  study.plan.sweep = parse_json(R"({
    "same": 0.02, "arms": [{"name": "A"}, {"name": "B"}],
    "questions": [{"arm": "B", "against": "A"},
                  {"arm": "B", "against": "A", "measure": "val_loss"}]})",
                                "test");
  EXPECT_TRUE(comparisons(study, kLength, View::kEqualSteps)[0].equivalent());
  const Comparison loss = comparisons(study, Measure::kLoss, View::kEqualSteps)[0];
  EXPECT_FALSE(loss.equivalent());
  EXPECT_TRUE(std::isnan(loss.same_p));
}

TEST(Comparisons, ARefusedPairIsNeverClaimedAndNotCounted) {
  Study study = study_of(
      {{"A", {1.20, 1.21, 1.22}}, {"B", {1.302, 1.31, 1.321}}, {"C", {1.403, 1.414, 1.423}}});
  study.findings = {{Severity::kRefuse, "C saw other data.", {"C"}, false, "F08"}};
  const auto all = comparisons(study, kLength, View::kEqualSteps);
  EXPECT_TRUE(all[0].claimed());
  EXPECT_EQ(all[0].pairs, 1);
  EXPECT_EQ(all[0].adjusted_p, all[0].p);
  EXPECT_EQ(all[1].refusal->id, "F08");
  EXPECT_FALSE(all[1].claimed());
}

TEST(Comparisons, WhatConcernsTimeAloneLeavesEqualStepsAlone) {
  Study study = study_of({{"A", {1.20, 1.21, 1.22}}, {"B", {1.302, 1.31, 1.321}}});
  study.findings = {{Severity::kRefuse, "Read too early.", {}, true, "F12"}};
  EXPECT_TRUE(comparisons(study, kLength, View::kEqualSteps)[0].claimed());
  EXPECT_NE(comparisons(study, kLength, View::kEqualSeconds)[0].refusal, nullptr);
  study.findings[0].severity = Severity::kWarn;
  EXPECT_EQ(comparisons(study, kLength, View::kEqualSeconds)[0].refusal, nullptr);
}

TEST(Comparisons, TurnAroundWithTheirSigns) {
  const Study study = study_of({{"A", {1.20, 1.21, 1.22}}, {"B", {1.302, 1.31, 1.321}}});
  const auto all = comparisons(study, kLength, View::kEqualSteps);
  const Arm &a = study.summary.arms[0], &b = study.summary.arms[1];
  const Comparison forth = comparison_of(all, a, b), back = comparison_of(all, b, a);
  EXPECT_EQ(forth.difference.mean, -back.difference.mean);
  EXPECT_EQ(forth.difference.low, -back.difference.high);
  EXPECT_EQ(forth.p, back.p);
  EXPECT_THAT(comparison_text(back, kLength), HasSubstr("0.101 above A"));
  EXPECT_THAT(comparison_text(forth, kLength), HasSubstr("0.101 below B"));
}

TEST(Comparisons, AreClaimedFromThreePairedSeedsAndAnAdjustedPOfFivePercentOn) {
  const Study study = study_of({{"A", {1.20, 1.21, 1.22}}, {"B", {1.302, 1.31, 1.321}}});
  Comparison one = comparisons(study, kLength, View::kEqualSteps)[0];
  const auto claimed = [&](int64_t seeds, double p, double adjusted_p) {
    one.difference.n = seeds;
    one.p = p;
    one.adjusted_p = adjusted_p;
    EXPECT_EQ(one.claimed(), verdict(one, kLength) == "B is better");
    return one.claimed();
  };
  EXPECT_TRUE(claimed(3, 0.01, 0.05));
  EXPECT_FALSE(claimed(3, 0.01, 0.0501)) << "alone it would stand";
  EXPECT_FALSE(claimed(2, 0.001, 0.001));
  EXPECT_FALSE(claimed(3, NAN, NAN));
  const FairnessFinding refusal{Severity::kRefuse, "", {}, false, "F12"};
  one.refusal = &refusal;
  EXPECT_FALSE(claimed(3, 0.001, 0.001));
}

TEST(Comparisons, ANotANumberIsNoDifference) {
  const Study study = study_of({{"A", {1.20, std::nan(""), 1.22}}, {"B", {1.3, 1.31, 1.32}}});
  // An arm without a mean has no chosen setting, so nothing is compared with it.
  EXPECT_TRUE(comparisons(study, kLength, View::kEqualSteps).empty());
}

// Runs with seeds 1, 2, ... that reach the target after so many steps; tokens are ten times as
// many.
class SpeedupTest : public ::testing::Test {
 protected:
  Setting setting(const std::vector<double>& steps, int64_t first_seed = 1) {
    runs_.emplace_back();
    Setting setting;
    for (double at : steps) {
      Result run;
      run.outcome = std::isinf(at) ? "diverged" : "done";
      run.seeds.weights = run.seeds.data = run.seeds.noise = first_seed++;
      run.steps_to_target = at;
      run.tokens_to_target = 10 * at;
      run.seconds_to_target = at / 2;
      runs_.back().push_back(run);
    }
    for (const Result& run : runs_.back()) setting.runs.push_back(&run);
    std::vector<double> tokens;
    for (double at : steps) tokens.push_back(10 * at);
    setting.target.steps = median(steps);
    setting.target.tokens = median(tokens);
    return setting;
  }
  std::list<std::vector<Result>> runs_;
};

TEST_F(SpeedupTest, IsTheRatioOfMediansWithAnIntervalOverEqualSeeds) {
  const Speedup speedup =
      speedup_at_target(setting({200, 400, 800}), setting({100, 100, 100}), Clock::kSteps);
  EXPECT_DOUBLE_EQ(speedup.ratio, 4);
  EXPECT_EQ(speedup.seeds, 3);
  EXPECT_EQ(speedup.reached, 3);
  // Logarithms of 2, 4 and 8 in units of log 2 are 1, 2, 3: mean 2, sd 1, t(0.975, 2) = 4.302653.
  EXPECT_NEAR(speedup.mean, 4, 1e-12);
  EXPECT_NEAR(std::log2(speedup.low), 2 - 4.302652729911275 / std::sqrt(3.0), 1e-9);
  EXPECT_NEAR(std::log2(speedup.high), 2 + 4.302652729911275 / std::sqrt(3.0), 1e-9);
}

TEST_F(SpeedupTest, HasNoIntervalWhereASeedNeverArrives) {
  const Speedup speedup =
      speedup_at_target(setting({200, 400, INFINITY}), setting({100, 100, 100}), Clock::kTokens);
  EXPECT_DOUBLE_EQ(speedup.ratio, 4);
  EXPECT_EQ(speedup.seeds, 3);
  EXPECT_EQ(speedup.reached, 2);
  EXPECT_TRUE(std::isnan(speedup.mean));
  EXPECT_TRUE(std::isnan(speedup.low));
}

TEST_F(SpeedupTest, SaysWhoArrivesAloneAndNothingWhereNobodyDoes) {
  const std::vector<double> never = {INFINITY, INFINITY}, soon = {100, 200};
  EXPECT_EQ(speedup_at_target(setting(never), setting(soon), Clock::kSteps).ratio, INFINITY);
  EXPECT_EQ(speedup_at_target(setting(soon), setting(never), Clock::kSteps).ratio, 0);
  EXPECT_TRUE(std::isnan(speedup_at_target(setting(never), setting(never), Clock::kSteps).ratio));
}

TEST_F(SpeedupTest, OnlySeedsInCommonAndRunsThatEndedArePaired) {
  Setting reference = setting({200, 400, 800}), other = setting({100, 100, 100}, 3);
  EXPECT_EQ(speedup_at_target(reference, other, Clock::kSteps).seeds, 1);
  EXPECT_NEAR(speedup_at_target(reference, other, Clock::kSteps).mean, 8, 1e-12);
  EXPECT_TRUE(std::isnan(speedup_at_target(reference, other, Clock::kSteps).low));
  runs_.front()[2].outcome = "interrupted";
  EXPECT_EQ(speedup_at_target(reference, other, Clock::kSteps).seeds, 0);
  EXPECT_TRUE(std::isnan(speedup_at_target(reference, other, Clock::kSteps).mean));
}

}  // namespace
}  // namespace draftlab

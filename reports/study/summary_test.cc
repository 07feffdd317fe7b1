#include "reports/study/summary.h"

#include <gmock/gmock.h>

#include <cmath>
#include <limits>

#include "reports/study/curve.h"

namespace draftlab {
namespace {

using ::testing::ElementsAre;

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

// A finished run of 100 steps with evaluations at 0, 50 and 100.
Result run_of(const std::string& arm, const std::string& kind, double rate, int64_t seed,
              std::vector<double> lengths, double seconds = 10) {
  Result r;
  r.arm = arm;
  r.run = arm + std::to_string(seed);
  r.optimizer = parse_optimizer_config(JsonObject{{"kind", kind}, {"learning_rate", rate}}, "test");
  r.seeds = {seed, seed, seed};
  r.outcome = "done";
  r.steps = r.config.training.steps = 100;
  r.train_seconds = seconds;
  for (size_t i = 0; i < lengths.size(); ++i) {
    EvaluationRow row;
    row.step = 50 * static_cast<int64_t>(i);
    row.train_seconds = seconds * static_cast<double>(i) / 2;
    row.acceptance_length = lengths[i];
    row.loss = 10 - lengths[i];
    row.prefix_share = {lengths[i] - 1, (lengths[i] - 1) / 2};
    r.held_out.push_back(row);
  }
  return r;
}

TEST(Summary, SettingsOfAnArmAreGroupedOverSeedsAndSortedByRate) {
  const std::vector<Result> results = {run_of("A", "adamw", 0.02, 1, {1, 1.1, 1.2}),
                                       run_of("A", "adamw", 0.01, 1, {1, 1.1, 1.3}),
                                       run_of("A", "adamw", 0.02, 2, {1, 1.1, 1.4})};
  const Summary summary = summarize(results, {});
  ASSERT_EQ(summary.arms.size(), 1u);
  const Arm& arm = summary.arms[0];
  ASSERT_EQ(arm.settings.size(), 2u);
  EXPECT_EQ(arm.settings[0].label, "learning_rate 0.01");
  EXPECT_EQ(arm.settings[1].label, "learning_rate 0.02");
  EXPECT_THAT(at_end(arm.settings[1], Measure::kAcceptanceLength).values, ElementsAre(1.2, 1.4));
  EXPECT_DOUBLE_EQ(at_end(arm.settings[1], Measure::kAcceptanceLength).estimate.mean, 1.3);
}

TEST(Summary, OfATunedArmOnlyTheFinalRunsAreShownAndTheTrialsSayWhatWasTried) {
  std::vector<Result> results = {
      run_of("A", "adamw", 0.01, 11, {1, 1.1, 1.9}), run_of("A", "adamw", 0.02, 11, {1, 1.1, 2.5}),
      run_of("A", "adamw", 0.02, 1, {1, 1.1, 1.2}), run_of("A", "adamw", 0.02, 2, {1, 1.1, 1.4})};
  results[0].phase = results[1].phase = kTrial;
  results[2].phase = results[3].phase = kFinal;
  const Summary summary = summarize(results, {});
  const Arm& arm = summary.arms[0];
  ASSERT_EQ(arm.settings.size(), 1u);
  EXPECT_THAT(at_end(*arm.chosen(), Measure::kAcceptanceLength).values, ElementsAre(1.2, 1.4));
  EXPECT_EQ(arm.chosen()->label, "learning_rate 0.02");
  ASSERT_EQ(arm.tried().size(), 2u);
  EXPECT_EQ(arm.chosen_trial(), &arm.trials[1]);
  ASSERT_EQ(arm.swept.size(), 1u);
  EXPECT_TRUE(arm.swept[0].at_edge);
  // While no final run is planned, the trials are all there is.
  results.resize(2);
  const Summary early = summarize(results, {});
  EXPECT_EQ(early.arms[0].settings.size(), 2u);
  EXPECT_TRUE(early.arms[0].trials.empty());
}

TEST(Summary, TheBestSettingHasTheBestMeanAndTheEarlierOneWinsATie) {
  std::vector<Result> results = {run_of("A", "adamw", 0.01, 1, {1, 1.1, 1.3}),
                                 run_of("A", "adamw", 0.02, 1, {1, 1.1, 1.4}),
                                 run_of("A", "adamw", 0.03, 1, {1, 1.1, 1.4})};
  EXPECT_EQ(summarize(results, {}).arms[0].best, 1u);
  // By the target's measure, where lower is better.
  results[0].held_out.back().loss = 1;
  EXPECT_EQ(summarize(results, {"val_loss", 1}).arms[0].best, 0u);
}

TEST(Summary, TheLowerLossBreaksATieAndThenTheOrderOfTheGridNotTheRate) {
  // As in the grid: the larger rate first.
  std::vector<Result> results = {run_of("A", "adamw", 0.02, 1, {1, 1.1, 1.4}),
                                 run_of("A", "adamw", 0.01, 1, {1, 1.1, 1.4})};
  Summary summary = summarize(results, {});
  EXPECT_EQ(summary.arms[0].chosen()->label, "learning_rate 0.02");
  EXPECT_TRUE(summary.arms[0].all_tie());
  EXPECT_FALSE(summary.arms[0].choice->by_loss);
  results[1].held_out.back().loss -= 1e-9;
  summary = summarize(results, {});
  EXPECT_EQ(summary.arms[0].chosen()->label, "learning_rate 0.01");
  EXPECT_TRUE(summary.arms[0].choice->by_loss);
  results.push_back(run_of("A", "adamw", 0.03, 1, {1, 1.1, 1.3}));
  EXPECT_FALSE(summarize(results, {}).arms[0].all_tie());
}

TEST(Summary, OfATunedArmTheChosenTrialIsTheOneWhoseSettingRan) {
  // An older version took the other one of two that tie.
  std::vector<Result> results = {
      run_of("A", "adamw", 0.01, 11, {1, 1.1, 1.4}), run_of("A", "adamw", 0.02, 11, {1, 1.1, 1.4}),
      run_of("A", "adamw", 0.02, 1, {1, 1.1, 1.2}), run_of("A", "adamw", 0.02, 2, {1, 1.1, 1.4})};
  results[0].phase = results[1].phase = kTrial;
  results[2].phase = results[3].phase = kFinal;
  const Summary summary = summarize(results, {});
  EXPECT_EQ(summary.arms[0].chosen_trial()->label, "learning_rate 0.02");
  EXPECT_TRUE(summary.arms[0].all_tie());
}

TEST(Summary, ANotANumberIsNeverTheBest) {
  const std::vector<Result> results = {run_of("A", "adamw", 0.01, 1, {1, 1.1, kNaN}),
                                       run_of("A", "adamw", 0.02, 1, {1, 1.1, 1.2})};
  EXPECT_EQ(summarize(results, {}).arms[0].best, 1u);
  EXPECT_EQ(summarize(results, {"val_loss", 1}).arms[0].best, 1u);
  const std::vector<Result> none = {run_of("A", "adamw", 0.01, 1, {1, 1.1, kNaN})};
  EXPECT_EQ(summarize(none, {}).arms[0].best, std::nullopt);
}

TEST(Summary, ASettingWithADivergedRunLosesToOneWithout) {
  std::vector<Result> results = {
      run_of("A", "adamw", 0.01, 1, {1, 1.1, 1.2}), run_of("A", "adamw", 0.01, 2, {1, 1.1, 1.2}),
      run_of("A", "adamw", 0.02, 1, {1, 1.1, 1.9}), run_of("A", "adamw", 0.02, 2, {1, 1.1, 1.9})};
  EXPECT_EQ(summarize(results, {}).arms[0].best, 1u);
  results[3].outcome = "diverged";
  const Summary summary = summarize(results, {});
  EXPECT_EQ(summary.arms[0].best, 0u);
  EXPECT_EQ(summary.arms[0].settings[1].diverged, 1);
}

TEST(Summary, TheTuningSplitDecidesWhereThereIsOne) {
  std::vector<Result> results = {run_of("A", "adamw", 0.01, 1, {1, 1.1, 1.2}),
                                 run_of("A", "adamw", 0.02, 1, {1, 1.1, 1.3})};
  for (Result& r : results) {
    r.config.split.tuning = 10;
    r.tuning = r.held_out;
  }
  results[0].tuning.back().acceptance_length = 1.5;
  const Summary summary = summarize(results, {});
  EXPECT_EQ(summary.chosen_on, Split::kTuning);
  EXPECT_EQ(summary.arms[0].best, 0u);
  EXPECT_DOUBLE_EQ(at_end(*summary.arms[0].chosen(), Measure::kAcceptanceLength).estimate.mean,
                   1.2);
}

TEST(Summary, AnUnfinishedRunIsInNoMean) {
  std::vector<Result> results = {run_of("A", "adamw", 0.01, 1, {1, 1.1, 1.2}),
                                 run_of("A", "adamw", 0.01, 2, {1, 1.5})};
  results[1].outcome = "unfinished";
  const Summary summary = summarize(results, {});
  const Setting& setting = *summary.arms[0].chosen();
  EXPECT_EQ(setting.runs.size(), 2u);
  EXPECT_THAT(at_end(setting, Measure::kAcceptanceLength).values, ElementsAre(1.2));
}

TEST(Summary, TheBestRateAtTheEndOfItsGridIsNoticed) {
  const std::vector<Result> inside = {run_of("A", "adamw", 0.01, 1, {1, 1.1, 1.2}),
                                      run_of("A", "adamw", 0.02, 1, {1, 1.1, 1.3}),
                                      run_of("A", "adamw", 0.04, 1, {1, 1.1, 1.2})};
  EXPECT_FALSE(summarize(inside, {}).arms[0].swept[0].at_edge);
  const std::vector<Result> edge(inside.begin(), inside.begin() + 2);
  const SweptOption option = summarize(edge, {}).arms[0].swept[0];
  EXPECT_EQ(option.key, "learning_rate");
  EXPECT_TRUE(option.at_edge);
  const std::vector<Result> single(inside.begin(), inside.begin() + 1);
  EXPECT_TRUE(summarize(single, {}).arms[0].swept.empty());
}

TEST(Summary, EqualSecondsAreReadOffWhereTheFastestRunEnds) {
  const std::vector<Result> results = {run_of("A", "adamw", 0.01, 1, {1, 1.1, 1.2}, 10),
                                       run_of("M", "muon", 0.01, 1, {1, 1.2, 1.6}, 40)};
  const Summary summary = summarize(results, {});
  EXPECT_EQ(summary.equal_seconds, 10);
  const auto value = [&](size_t arm) {
    return at_equal_seconds(*summary.arms[arm].chosen(), Measure::kAcceptanceLength).values[0];
  };
  EXPECT_DOUBLE_EQ(value(0), 1.2);
  EXPECT_DOUBLE_EQ(value(1), 1.1);  // half of the way to its evaluation at 20 s
}

TEST(Summary, TheReferenceIsTheFirstAdamwArmElseTheFirstArm) {
  const Result adamw = run_of("A", "adamw", 0.01, 1, {1, 1.1, 1.2});
  const Result muon = run_of("M", "muon", 0.01, 1, {1, 1.2, 1.6});
  EXPECT_EQ(summarize({muon, adamw}, {}).reference, 1u);
  EXPECT_EQ(summarize({muon}, {}).reference, 0u);
}

TEST(Summary, TimeToTargetCountsDivergedRunsAsNeverAndLeavesUnfinishedOnesOut) {
  std::vector<Result> results;
  for (int64_t seed = 1; seed <= 4; ++seed) {
    results.push_back(run_of("A", "adamw", 0.01, seed, {1, 1.1, 1.2}));
    results.back().steps_to_target = results.back().tokens_to_target =
        results.back().seconds_to_target = 10.0 * seed;
  }
  results[2].outcome = "diverged";
  results[2].steps_to_target = results[2].tokens_to_target = results[2].seconds_to_target =
      INFINITY;
  results[3].outcome = "unfinished";
  const TargetCount count = summarize(results, {}).arms[0].chosen()->target;
  EXPECT_EQ(count.reached, 2);
  EXPECT_EQ(count.of, 3);
  EXPECT_EQ(count.steps, 20);
}

TEST(PairedDifference, JoinsRunsOfEqualSeedsOnly) {
  const std::vector<Result> results = {
      run_of("A", "adamw", 0.01, 1, {1, 1.1, 1.2}), run_of("A", "adamw", 0.01, 2, {1, 1.1, 1.3}),
      run_of("M", "muon", 0.01, 2, {1, 1.2, 1.35}), run_of("M", "muon", 0.01, 1, {1, 1.2, 1.27}),
      run_of("M", "muon", 0.01, 7, {1, 1.2, 1.9})};
  const Summary summary = summarize(results, {});
  const Estimate d = paired_difference(*summary.arms[1].chosen(), *summary.arms[0].chosen(),
                                       Measure::kAcceptanceLength, at_end);
  EXPECT_EQ(d.n, 2);
  EXPECT_NEAR(d.mean, 0.06, 1e-12);  // of 0.05 and 0.07
  EXPECT_NEAR(d.sd, 0.02 / std::sqrt(2.0), 1e-12);
}

TEST(CurveEstimates, AreThereWhereAllRunsWereEvaluated) {
  Result a = run_of("A", "adamw", 0.01, 1, {1, 1.1, 1.2}, 10);
  Result b = run_of("A", "adamw", 0.01, 2, {1, 1.3, 1.4}, 20);
  b.held_out.erase(b.held_out.begin() + 1);
  const auto steps = curve_estimates({&a, &b}, Measure::kAcceptanceLength, Clock::kSteps);
  ASSERT_EQ(steps.size(), 2u);
  EXPECT_EQ(steps[1].x, 100);
  EXPECT_EQ(steps[1].y.n, 2);
  EXPECT_DOUBLE_EQ(steps[1].y.mean, 1.3);
  EXPECT_DOUBLE_EQ(means(steps)[1].y, 1.3);
  EXPECT_EQ(curve_estimates({&a, &b}, Measure::kAcceptanceLength, Clock::kSeconds)[1].x, 15);
  a.held_out.back().tokens = 7000;
  b.held_out.back().tokens = 8000;
  EXPECT_EQ(curve_estimates({&a, &b}, Measure::kAcceptanceLength, Clock::kTokens)[1].x, 7500);
}

TEST(MeanSurvival, IsTheMeanOfTheLastPrefixShares) {
  const Result a = run_of("A", "adamw", 0.01, 1, {1, 1.2});
  const Result b = run_of("A", "adamw", 0.01, 2, {1, 1.4});
  const auto points = mean_survival({&a, &b});
  ASSERT_EQ(points.size(), 2u);
  EXPECT_EQ(points[1].x, 2);
  EXPECT_NEAR(points[1].y, 0.15, 1e-12);
}

TEST(RateCurves, OneForEachCombinationOfTheOtherOptions) {
  std::vector<Result> results = {run_of("M", "muon", 0.01, 1, {1, 1.1, 1.2}),
                                 run_of("M", "muon", 0.02, 1, {1, 1.1, 1.2}),
                                 run_of("M", "muon", 0.01, 1, {1, 1.1, 1.2})};
  results[2].optimizer.options["momentum"] = 0.9;
  const Summary summary = summarize(results, {});
  const auto curves = rate_curves(summary.arms[0]);
  ASSERT_EQ(curves.size(), 2u);
  EXPECT_EQ(curves[0].size() + curves[1].size(), 3u);
}

TEST(RoutingTotals, CountTensorsAndParametersOfEachRule) {
  const auto totals = routing_totals({{"fc.weight", {4, 6}, "muon", {4}, {0.1}, 0},
                                      {"norm.weight", {4}, "adamw", {4}, {0.1}, 0},
                                      {"o.weight", {2, 3}, "muon", {1, 1}, {0.1, 0.1}, 0}});
  ASSERT_EQ(totals.size(), 2u);
  EXPECT_EQ(totals[0].rule, "muon");
  EXPECT_EQ(totals[0].tensors, 2);
  EXPECT_EQ(totals[0].parameters, 30);
  EXPECT_EQ(totals[1].parameters, 4);
}

}  // namespace
}  // namespace draftlab

#include "reports/study/paired_curve.h"

#include <gmock/gmock.h>

#include <cmath>

namespace draftlab {
namespace {

using ::testing::ElementsAre;

// A finished run with these losses at steps 0, 10, 20, ...
Result run_of(int64_t seed, const std::vector<double>& losses) {
  Result r;
  r.seeds = {seed, seed, seed};
  r.outcome = "done";
  int64_t step = 0;
  for (const double loss : losses) {
    EvaluationRow row;
    row.step = step;
    row.loss = loss;
    row.acceptance_length = 10 - loss;
    r.held_out.push_back(row);
    step += 10;
  }
  r.steps = r.config.training.steps = step - 10;
  return r;
}

std::vector<const Result*> pointers(const std::vector<Result>& results) {
  std::vector<const Result*> all;
  for (const Result& r : results) all.push_back(&r);
  return all;
}

PairedCurve losses(const std::vector<Result>& a, const std::vector<Result>& b) {
  return paired_curve(pointers(a), pointers(b), Measure::kLoss);
}

TEST(PairedCurve, PairsBySeedAtCommonSteps) {
  const std::vector<Result> a = {run_of(2, {5, 4, 3}), run_of(1, {5, 4.5, 3.5, 1}), run_of(9, {5})};
  const std::vector<Result> b = {run_of(1, {5, 4, 3}), run_of(2, {5, 5, 5})};
  const PairedCurve curve = losses(a, b);
  EXPECT_THAT(curve.steps, ElementsAre(0, 10, 20));
  EXPECT_THAT(curve.of_seed, ElementsAre(ElementsAre(0, -1, -2), ElementsAre(0, 0.5, 0.5)));
  EXPECT_EQ(curve.mean[1].mean, -0.25);
  // sd 0.75 sqrt 2, t(0.975, 1) = 12.7062
  EXPECT_NEAR(curve.mean[1].high, -0.25 + 12.7062 * 0.75, 1e-3);
}

TEST(PairedCurve, IsEmptyWithoutCommonSeeds) {
  EXPECT_TRUE(losses({run_of(1, {5})}, {run_of(2, {5})}).steps.empty());
}

TEST(Transient, PeaksAfterTheSwitchAndEndsWhereTheDifferenceStaysBelowZero) {
  const std::vector<Result> flat = {run_of(1, {5, 5, 5, 5, 5, 5}), run_of(2, {5, 5, 5, 5, 5, 5})};
  // The 9 lies before the switch; the dip at step 30 does not last.
  const std::vector<Result> b = {run_of(1, {5, 9, 6.0, 4.9, 5.1, 4}),
                                 run_of(2, {5, 9, 6.4, 4.9, 4.5, 4})};
  const Transient t = transient_after(losses(b, flat), 15);
  EXPECT_EQ(t.peak_step, 20);
  EXPECT_NEAR(t.peak.mean, 1.2, 1e-12);
  EXPECT_EQ(t.peak.n, 2);
  EXPECT_EQ(t.length, 15);  // the mean: -0.1 at 30, -0.2 at 40
  EXPECT_THAT(t.length_of_seed, ElementsAre(35, 15));
}

TEST(Transient, NeverEndsIfTheLastDifferenceIsAboveZero) {
  const Transient t =
      transient_after(losses({run_of(1, {5, 5, 4, 6})}, {run_of(1, {5, 5, 5, 5})}), 10);
  EXPECT_EQ(t.length, INFINITY);
  EXPECT_EQ(t.peak.mean, 1);
  EXPECT_EQ(t.peak.n, 1);
  EXPECT_TRUE(std::isnan(t.peak.low));
}

TEST(Transient, ANaNIsThePeakAndEndsEveryReturnBeforeIt) {
  const Transient t =
      transient_after(losses({run_of(1, {5, 4, NAN, 4})}, {run_of(1, {5, 5, 5, 5})}), 0);
  EXPECT_TRUE(std::isnan(t.peak.mean));
  EXPECT_EQ(t.peak_step, 20);
  EXPECT_EQ(t.length, 30);
}

TEST(Transient, IsEmptyWhereNothingWasEvaluatedAfterTheSwitch) {
  const Transient t = transient_after(losses({run_of(1, {5, 4})}, {run_of(1, {5, 5})}), 10);
  EXPECT_EQ(t.peak.n, 0);
  EXPECT_EQ(t.length, INFINITY);
}

TEST(FinalDifference, NeedsTheLastPlannedEvaluation) {
  std::vector<Result> a = {run_of(1, {5, 4}), run_of(2, {5, 3})};
  const std::vector<Result> b = {run_of(1, {5, 5}), run_of(2, {5, 5})};
  EXPECT_EQ(final_difference(pointers(a), pointers(b), Measure::kLoss).mean, -1.5);
  a[1].config.training.steps = 20;
  EXPECT_TRUE(std::isnan(final_difference(pointers(a), pointers(b), Measure::kLoss).mean));
}

}  // namespace
}  // namespace draftlab

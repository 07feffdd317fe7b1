#include "reports/stats/returns_trend.h"

#include <gmock/gmock.h>

#include <cmath>

namespace draftlab {
namespace {

using ::testing::HasSubstr;

double law(double tokens) { return 20 / std::sqrt(tokens) + 1; }

// Three seeds around the law; the candidate ends where the current optimizer would with `ratio`
// times the tokens.
Budget budget(double tokens, double ratio, double scatter = 1e-4) {
  Budget b{tokens, tokens / 1000, {}, {}};
  for (const double noise : {-scatter, 0., scatter}) {
    b.current.push_back(law(tokens) + noise);
    b.candidate.push_back(law(ratio * tokens) + noise);
  }
  return b;
}

TEST(ReturnsTrend, FindsAConstantRatioAndExtrapolatesIt) {
  const ReturnsTrend trend =
      returns_trend({budget(100, 2), budget(800, 2), budget(200, 2), budget(400, 2)});
  ASSERT_EQ(trend.refusal, "");
  EXPECT_EQ(trend.points.front().tokens, 100);
  EXPECT_NEAR(trend.points[1].efficiency.ratio, 2, 1e-3);
  EXPECT_NEAR(trend.slope, 0, 1e-3);
  EXPECT_NEAR(trend.at(1e6).ratio, 2, 0.01);
  EXPECT_GT(trend.lack_of_fit_p, 0.5);
}

// By hand: x = -1.5, -0.5, 0.5, 1.5 times log 2; a line through log 2, log 1.9, log 1.5, log 1.6 on
// the logarithm, with prediction intervals of t(0.975, 2) = 4.30265.
TEST(ReturnsTrend, PredictionIntervalsAreThoseOfTheLineThroughTheLogarithms) {
  const ReturnsTrend trend = returns_trend({budget(100, 2, 1e-9), budget(200, 1.9, 1e-9),
                                            budget(400, 1.5, 1e-9), budget(800, 1.6, 1e-9)});
  ASSERT_EQ(trend.refusal, "");
  const double y[4] = {std::log(2.), std::log(1.9), std::log(1.5), std::log(1.6)};
  const double l = std::log(2.), sxx = 5 * l * l, mean = (y[0] + y[1] + y[2] + y[3]) / 4;
  const double slope = l * (-1.5 * y[0] - 0.5 * y[1] + 0.5 * y[2] + 1.5 * y[3]) / sxx;
  double rest = 0;
  for (int i = 0; i < 4; ++i) rest += std::pow(y[i] - mean - slope * l * (i - 1.5), 2);
  const double x = 3.5 * l;  // 3,200 tokens
  const double half = 4.30265 * std::sqrt(rest / 2) * std::sqrt(1 + 0.25 + x * x / sxx);
  EXPECT_NEAR(trend.slope, slope, 1e-6);
  const RatioPrediction p = trend.at(3200);
  EXPECT_NEAR(std::log(p.ratio), mean + slope * x, 1e-5);
  EXPECT_NEAR(std::log(p.high), mean + slope * x + half, 1e-4);
  EXPECT_NEAR(std::log(p.low), mean + slope * x - half, 1e-4);
  // Farther away it is wider.
  const RatioPrediction far = trend.at(1e6);
  EXPECT_GT(far.high / far.low, p.high / p.low);
}

TEST(ReturnsTrend, TellsRatiosByALineAndExtrapolatesNothingWhereNoFloorIsSeen) {
  std::vector<Budget> budgets;
  for (const double tokens : {100., 200., 400., 800.}) {
    Budget b{tokens, 1, {}, {}};
    for (const double noise : {-0.001, 0., 0.001}) {
      b.current.push_back(5 - 0.4 * std::log(tokens) + noise);
      b.candidate.push_back(5 - 0.4 * std::log(2 * tokens) + noise);
    }
    budgets.push_back(b);
  }
  const ReturnsTrend trend = returns_trend(budgets);
  EXPECT_TRUE(trend.by_line);
  EXPECT_THAT(trend.refusal, HasSubstr("they show no floor"));
  ASSERT_EQ(trend.points.size(), 4u);
  EXPECT_NEAR(trend.points[0].efficiency.ratio, 2, 0.01);
  EXPECT_NEAR(trend.points[2].efficiency.ratio, 2, 0.01);
  EXPECT_TRUE(std::isnan(trend.points[3].efficiency.ratio)) << "the reference was never so good";
}

// The truth is a law; what the floor could be besides makes the interval wider than the line's own.
TEST(ReturnsTrend, APredictionHoldsWhatEveryAdmissibleFloorWouldSay) {
  const std::vector<Budget> clear = {budget(100, 2, 1e-6), budget(200, 1.9, 1e-6),
                                     budget(400, 1.8, 1e-6), budget(800, 1.7, 1e-6)};
  std::vector<Budget> vague = {budget(100, 2, 0.03), budget(200, 1.9, 0.03), budget(400, 1.8, 0.03),
                               budget(800, 1.7, 0.03)};
  const ReturnsTrend sure = returns_trend(clear), unsure = returns_trend(vague);
  ASSERT_EQ(sure.refusal, "");
  ASSERT_EQ(unsure.refusal, "");
  EXPECT_LT(unsure.least_floor, 1);
  EXPECT_GT(unsure.most_floor, 1);
  const RatioPrediction narrow = sure.at(1e5), wide = unsure.at(1e5);
  EXPECT_GT(wide.high / wide.low, narrow.high / narrow.low);
  EXPECT_LE(wide.low, wide.ratio);
  EXPECT_GE(wide.high, wide.ratio);
}

TEST(ReturnsTrend, IsRefusedBelowThreeBudgets) {
  const ReturnsTrend trend = returns_trend({budget(100, 2), budget(200, 2)});
  EXPECT_THAT(trend.refusal, HasSubstr("ends of 2 annealed budgets"));
  EXPECT_TRUE(trend.points.empty());
}

TEST(ReturnsTrend, IsRefusedWhereNoPowerLawDescribesTheEnds) {
  // Losses that rise, as over many epochs of a small store.
  Budget rising = budget(800, 2);
  for (double& value : rising.current) value = 4;
  EXPECT_THAT(returns_trend({budget(100, 2), budget(200, 2), budget(400, 2), rising}).refusal,
              HasSubstr("power law"));
  // Losses that fall, but by a step that the scatter of seeds does not explain.
  Budget off = budget(400, 2);
  for (double& value : off.current) value += 0.2;
  EXPECT_THAT(returns_trend({budget(100, 2), budget(200, 2), off, budget(800, 2)}).refusal,
              HasSubstr("scatter of seeds"));
}

TEST(ReturnsTrend, IsRefusedWhereTheCandidateIsBelowTheFloor) {
  Budget below = budget(400, 2);
  for (double& value : below.candidate) value = 0.5;
  const ReturnsTrend trend = returns_trend({budget(100, 2), budget(200, 2), below, budget(800, 2)});
  EXPECT_THAT(trend.refusal, HasSubstr("no amount of data"));
  EXPECT_EQ(trend.points.size(), 4u);
}

}  // namespace
}  // namespace draftlab

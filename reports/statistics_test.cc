#include "reports/statistics.h"

#include <gmock/gmock.h>

#include <cmath>
#include <limits>

namespace draftlab {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

TEST(StudentT, QuantilesAreThoseOfTheTables) {
  EXPECT_NEAR(student_t_quantile(0.975, 1), 12.7062047362, 1e-9);
  EXPECT_NEAR(student_t_quantile(0.975, 2), 4.30265272991, 1e-9);
  EXPECT_NEAR(student_t_quantile(0.975, 4), 2.77644510520, 1e-9);
  EXPECT_NEAR(student_t_quantile(0.95, 9), 1.83311293265, 1e-9);
}

TEST(Estimate, OfThreeValuesIsMeanDeviationAndInterval) {
  // Mean 2, variance ((-1)^2 + 0 + 1^2) / 2 = 1, half width 4.3027 / sqrt(3).
  const Estimate e = estimate({1, 2, 3});
  EXPECT_EQ(e.n, 3);
  EXPECT_DOUBLE_EQ(e.mean, 2);
  EXPECT_DOUBLE_EQ(e.sd, 1);
  EXPECT_NEAR(e.low, 2 - 2.48413771175, 1e-9);
  EXPECT_NEAR(e.high, 2 + 2.48413771175, 1e-9);
}

TEST(Estimate, OfOneValueHasNoSpreadAndNoInterval) {
  const Estimate e = estimate({5});
  EXPECT_EQ(e.mean, 5);
  EXPECT_TRUE(std::isnan(e.sd) && std::isnan(e.low) && std::isnan(e.high));
}

TEST(Estimate, OfNothingIsNotANumber) {
  EXPECT_EQ(estimate({}).n, 0);
  EXPECT_TRUE(std::isnan(estimate({}).mean));
}

TEST(Estimate, IsNotANumberIfAnyValueIsNot) {
  const Estimate e = estimate({1, kNaN, 3});
  EXPECT_EQ(e.n, 3);
  EXPECT_TRUE(std::isnan(e.mean) && std::isnan(e.low));
}

TEST(Median, KeepsInfinityAndNeverReplacesIt) {
  EXPECT_EQ(median({3, 1, 2}), 2);
  EXPECT_EQ(median({4, 1, 2, 3}), 2.5);
  EXPECT_EQ(median({1, kInfinity, 2}), 2);
  EXPECT_EQ(median({1, kInfinity, kInfinity}), kInfinity);
  EXPECT_EQ(median({1, kInfinity}), kInfinity);
  EXPECT_EQ(median({kInfinity, kInfinity}), kInfinity);
  EXPECT_TRUE(std::isnan(median({})));
  EXPECT_TRUE(std::isnan(median({1, kNaN})));
}

TEST(Interpolate, FollowsTheStraightLineAndStopsAtTheEnds) {
  const std::vector<Point> points = {{0, 10}, {2, 6}, {4, 5}};
  EXPECT_EQ(interpolate(points, 0), 10);
  EXPECT_EQ(interpolate(points, 1), 8);
  EXPECT_EQ(interpolate(points, 3), 5.5);
  EXPECT_EQ(interpolate(points, 4), 5);
  EXPECT_TRUE(std::isnan(interpolate(points, -1)));
  EXPECT_TRUE(std::isnan(interpolate(points, 4.1)));
  EXPECT_TRUE(std::isnan(interpolate({{0, 1}, {1, kNaN}, {2, 3}}, 0.5)));
}

TEST(FirstCrossing, LiesOnTheLineBetweenTheEvaluationsAroundIt) {
  const std::vector<Point> loss = {{0, 10}, {100, 6}, {200, 4}};
  EXPECT_EQ(first_crossing(loss, 5, true), 150);
  EXPECT_EQ(first_crossing(loss, 6, true), 100);
  EXPECT_EQ(first_crossing(loss, 10, true), 0);
  const std::vector<Point> length = {{0, 1}, {100, 1.2}, {200, 1.6}};
  EXPECT_DOUBLE_EQ(first_crossing(length, 1.3, false), 125);
}

TEST(FirstCrossing, IsInfiniteIfTheLevelIsNeverReached) {
  EXPECT_EQ(first_crossing({{0, 10}, {100, 6}}, 5, true), kInfinity);
  EXPECT_EQ(first_crossing({}, 5, true), kInfinity);
  EXPECT_EQ(first_crossing({{0, kNaN}, {100, kNaN}}, 5, true), kInfinity);
}

TEST(FirstCrossing, IsTheFirstOneOfANoisyCurve) {
  EXPECT_EQ(first_crossing({{0, 10}, {100, 4}, {200, 8}, {300, 3}}, 7, true), 50);
}

TEST(FirstCrossing, DoesNotBridgeAGap) {
  EXPECT_EQ(first_crossing({{0, 10}, {100, kNaN}, {200, 4}}, 5, true), 200);
}

}  // namespace
}  // namespace draftlab

#include "reports/charts/axis.h"

#include <gmock/gmock.h>

#include <cmath>
#include <limits>

namespace draftlab {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::vector<std::string> labels(const std::vector<Tick>& ticks) {
  std::vector<std::string> texts;
  for (const Tick& tick : ticks) texts.push_back(tick.label);
  return texts;
}

TEST(Axis, LinearTicksAreRoundNumbersWithJustEnoughDecimals) {
  EXPECT_THAT(labels(Axis(Scale::kLinear, 0, 200, 0, 100).ticks(5)),
              ElementsAre("0", "50", "100", "150", "200"));
  EXPECT_THAT(labels(Axis(Scale::kLinear, 1.18, 1.42, 0, 100).ticks(6)),
              ElementsAre("1.20", "1.25", "1.30", "1.35", "1.40"));
  EXPECT_THAT(labels(Axis(Scale::kLinear, -0.05, 0.3, 0, 100).ticks(4)),
              ElementsAre("0.0", "0.1", "0.2", "0.3"));
  EXPECT_THAT(labels(Axis(Scale::kLinear, 0, 20000, 0, 100).ticks(2)),
              ElementsAre("0", "10,000", "20,000"));
}

TEST(Axis, LogarithmicTicksFollowTheDecadesUnlessTheRangeIsShort) {
  EXPECT_THAT(labels(Axis(Scale::kLog, 1e-4, 1e-2, 0, 100).ticks(8)),
              ElementsAre("1e-04", "2e-04", "5e-04", "0.001", "0.002", "0.005", "0.01"));
  EXPECT_THAT(labels(Axis(Scale::kLog, 1e-6, 1, 0, 100).ticks(7)),
              ElementsAre("1e-06", "1e-05", "1e-04", "0.001", "0.01", "0.1", "1"));
  EXPECT_THAT(labels(Axis(Scale::kLog, 5, 13, 0, 100).ticks(5)), ElementsAre("6", "8", "10", "12"));
}

TEST(Axis, EqualRatiosAreEqualDistancesOnALogarithmicScale) {
  const Axis axis(Scale::kLog, 1, 100, 0, 200);
  EXPECT_NEAR(axis.at(10), 100, 1e-9);
  EXPECT_NEAR(axis.at(1), 0, 1e-9);
}

TEST(Axis, CoversTheFiniteValuesAndShowsNoOthers) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const Axis axis(Scale::kLinear, {3, nan, INFINITY, 1}, 0, 100);
  EXPECT_TRUE(axis.shows(1) && axis.shows(3));
  EXPECT_FALSE(axis.shows(nan) || axis.shows(INFINITY) || axis.shows(10));
}

TEST(Axis, OneValueOrNoneStillMakesAnAxis) {
  EXPECT_TRUE(Axis(Scale::kLinear, {2}, 0, 100).shows(2));
  EXPECT_TRUE(Axis(Scale::kLinear, {0}, 0, 100).shows(0));
  EXPECT_FALSE(Axis(Scale::kLinear, std::vector<double>{}, 0, 100).ticks(5).empty());
  EXPECT_FALSE(Axis(Scale::kLog, std::vector<double>{}, 0, 100).ticks(5).empty());
}

TEST(Axis, LabelsThatWouldTouchAreLeftOut) {
  const Axis axis(Scale::kLinear, 0, 10, 0, 100);
  const std::vector<Tick> kept =
      without_overlap({{0, "0"}, {1, "100,000"}, {2, "2"}, {10, "10"}}, axis);
  EXPECT_THAT(labels(kept), ElementsAre("0", "2", "10"));
}

TEST(Axis, ValuesThatDifferByRoundingAloneAreOneValue) {
  for (const Scale scale : {Scale::kLinear, Scale::kLog}) {
    const Axis axis(scale, {0.8, std::nextafter(0.8, 1)}, 0, 100);
    EXPECT_LT(axis.ticks(6).size(), 10u);
    EXPECT_NEAR(axis.at(0.8), 50, 5);
  }
}

}  // namespace
}  // namespace draftlab

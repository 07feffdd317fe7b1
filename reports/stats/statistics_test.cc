#include "reports/stats/statistics.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "base/random.h"

namespace draftlab {
namespace {

using ::testing::DoubleEq;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::NanSensitiveDoubleEq;

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
  EXPECT_TRUE(std::isnan(median({1, 2, kNaN})));
  EXPECT_TRUE(std::isnan(median({kNaN, 1, 2})));
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
  const std::vector<Point> loss = {{0, 10}, {100, 6}, {200, 4}, {300, 3}};
  EXPECT_EQ(first_crossing(loss, 5, true), 150);
  EXPECT_EQ(first_crossing(loss, 6, true), 100);
  EXPECT_EQ(first_crossing(loss, 10, true), 0);
  const std::vector<Point> length = {{0, 1}, {100, 1.2}, {200, 1.6}, {300, 1.5}};
  EXPECT_DOUBLE_EQ(first_crossing(length, 1.3, false), 125);
}

TEST(FirstCrossing, IsInfiniteIfTheLevelIsNeverReached) {
  EXPECT_EQ(first_crossing({{0, 10}, {100, 6}}, 5, true), kInfinity);
  EXPECT_EQ(first_crossing({}, 5, true), kInfinity);
  EXPECT_EQ(first_crossing({{0, kNaN}, {100, kNaN}}, 5, true), kInfinity);
}

TEST(FirstCrossing, TakesTwoEvaluationsInARow) {
  EXPECT_EQ(first_crossing({{0, 10}, {100, 4}, {200, 8}, {300, 4}, {400, 3}}, 6, true), 250);
  EXPECT_EQ(first_crossing({{0, 10}, {100, 4}, {200, kNaN}}, 6, true), kInfinity);
  // The last one has nobody to confirm it.
  EXPECT_EQ(first_crossing({{0, 10}, {100, 8}, {200, 4}}, 6, true), kInfinity);
}

TEST(FirstCrossing, DoesNotBridgeAGap) {
  EXPECT_EQ(first_crossing({{0, 10}, {100, kNaN}, {200, 4}, {300, 4}}, 5, true), 200);
}

// Values of scipy 1.17.1: ttest_1samp, its confidence_interval, and nct for the last column.
struct PairedGolden {
  std::vector<double> differences;
  double mean, sd, low, high, p, detectable;
};
const PairedGolden kPaired[] = {
    {{0.118, 0.102, 0.131},
     0.11699999999999999,
     0.014525839046333956,
     0.08091581543018636,
     0.15308418456981362,
     0.00509868364986592,
     0.04741297124316054},
    {{0.02, -0.05, 0.11, 0.04, 0.01},
     0.026000000000000002,
     0.057706152185014035,
     -0.04565165164299941,
     0.09765165164299941,
     0.37070181110852435,
     0.09706157289216306},
    {{0.3, 0.31},
     0.305,
     0.007071067811865481,
     0.24146897631912645,
     0.36853102368087354,
     0.010435454952617565,
     0.08167004434960518},
};

TEST(PairedT, EqualsScipyToTheLastDigits) {
  for (const PairedGolden& golden : kPaired) {
    const Estimate e = estimate(golden.differences);
    EXPECT_NEAR(e.mean, golden.mean, 1e-12);
    EXPECT_NEAR(e.sd, golden.sd, 1e-12);
    EXPECT_NEAR(e.low, golden.low, 1e-12);
    EXPECT_NEAR(e.high, golden.high, 1e-12);
    EXPECT_NEAR(p_value(e), golden.p, 1e-12);
    EXPECT_NEAR(detectable_difference(e), golden.detectable, 1e-12);
  }
}

TEST(PairedT, QuantilesEqualScipyToTheLastDigits) {
  EXPECT_NEAR(student_t_quantile(0.975, 1), 12.706204736174694, 1e-12);
  EXPECT_NEAR(student_t_quantile(0.975, 4), 2.7764451051977934, 1e-12);
  EXPECT_NEAR(student_t_quantile(0.95, 9), 1.833112932656237, 1e-12);
  EXPECT_NEAR(student_t_quantile(0.995, 29), 2.756385903670605, 1e-12);
}

TEST(PairedT, NinetyFivePercentIntervalsHoldTheMeanNinetyFiveTimesInAHundred) {
  for (int n : {2, 3, 5, 10}) {
    Random random(7, "coverage", static_cast<uint64_t>(n));
    int held = 0, rejected = 0;
    constexpr int kDraws = 20000;
    for (int draw = 0; draw < kDraws; ++draw) {
      std::vector<double> values;
      for (int i = 0; i < n; ++i) values.push_back(0.3 + 2 * random.normal());
      const Estimate e = estimate(values);
      held += e.low <= 0.3 && 0.3 <= e.high;
      for (double& value : values) value -= 0.3;
      rejected += p_value(estimate(values)) <= 0.05;
    }
    EXPECT_GT(held, 0.94 * kDraws) << n;
    EXPECT_LT(held, 0.96 * kDraws) << n;
    EXPECT_EQ(held, kDraws - rejected) << n;  // interval and test are one
  }
}

TEST(PairedT, FindsADetectableDifferenceEightTimesInTen) {
  // True sd 1, n = 4: the difference that the test promises to find with that sd.
  Estimate unit{4, 0, 1, 0, 0};
  const double difference = detectable_difference(unit);
  Random random(11, "power");
  int found = 0;
  constexpr int kDraws = 20000;
  for (int draw = 0; draw < kDraws; ++draw) {
    std::vector<double> values;
    for (int i = 0; i < 4; ++i) values.push_back(difference + random.normal());
    found += p_value(estimate(values)) <= 0.05;
  }
  EXPECT_NEAR(found / double{kDraws}, 0.8, 0.01);
}

TEST(PairedT, MovesAndScalesWithItsValues) {
  const std::vector<double> values = {0.2, 0.5, -0.1, 0.4};
  std::vector<double> scaled;
  for (double value : values) scaled.push_back(-3 * value);
  const Estimate e = estimate(values), s = estimate(scaled);
  EXPECT_DOUBLE_EQ(s.mean, -3 * e.mean);
  EXPECT_DOUBLE_EQ(s.low, -3 * e.high);
  EXPECT_DOUBLE_EQ(p_value(s), p_value(e));
  EXPECT_DOUBLE_EQ(detectable_difference(s), 3 * detectable_difference(e));
  const Estimate reordered = estimate({0.4, -0.1, 0.2, 0.5});
  EXPECT_NEAR(reordered.low, e.low, 1e-15);
  EXPECT_NEAR(p_value(reordered), p_value(e), 1e-15);
}

TEST(PairedT, WithoutASpreadThereIsNoTest) {
  EXPECT_TRUE(std::isnan(p_value(estimate({0.4}))));
  EXPECT_TRUE(std::isnan(p_value(estimate({0.4, kNaN, 0.5}))));
  EXPECT_TRUE(std::isnan(detectable_difference(estimate({0.4}))));
  EXPECT_EQ(p_value(estimate({0, 0, 0})), 1);
  EXPECT_EQ(p_value(estimate({1, 1, 1})), 0);
}

TEST(PairedT, ASpreadIsNoSmallerThanWhatValuesAreCountedIn) {
  EXPECT_EQ(p_value(estimate({0, 0, 0}), 0.01), 1);
  // t = 1 / (2 / sqrt 3): scipy.stats.t.sf(0.8660254, 2) * 2
  EXPECT_NEAR(p_value(estimate({1, 1, 1}), 2), 0.4778, 1e-4);
  const Estimate wide = estimate({0, 3, 6});
  EXPECT_EQ(p_value(wide, 1), p_value(wide)) << "where it is larger it stays";
}

TEST(PairedT, AnIntervalAtALevelExcludesZeroJustWhereThePIsBelowIt) {
  const Estimate e = estimate({0.03, 0.04, 0.05});  // p 0.0202
  for (const Estimate& each : {e, estimate({0.03, 0.04, 0.06}), estimate({1.1, 1.7, 1.3, 0.9})}) {
    EXPECT_EQ(at_level(each, 0.05).low, each.low);
    EXPECT_EQ(at_level(each, 0.05).high, each.high);
  }
  EXPECT_GT(at_level(e, p_value(e) + 1e-4).low, 0);
  EXPECT_LT(at_level(e, p_value(e) - 1e-4).low, 0);
}

TEST(Equivalence, IsTheLargerOfTwoOneSidedTests) {
  const Estimate e = estimate({0.002, -0.001, 0.001, 0.004});
  // (0.0015 - 0.01) / (0.00208 / 2): scipy.stats.t.cdf(-8.166, 3)
  EXPECT_NEAR(equivalence_p(e, 0.01), 0.00192, 1e-4);
  EXPECT_GT(equivalence_p(e, 0.001), 0.5) << "the mean itself lies outside";
  EXPECT_TRUE(std::isnan(equivalence_p(estimate({0.1}), 1)));
}

// In standard deviations of a paired difference: one pair, the worst of 3, of 6.
TEST(PairedT, FewSeedsSeeLittleAmongManyPairs) {
  const auto seen = [](int64_t n, double pairs) {
    Estimate unit = estimate(std::vector<double>(static_cast<size_t>(n), 0.0));
    unit.sd = 1;
    return detectable_difference(unit, kClaimLevel / pairs);
  };
  EXPECT_NEAR(seen(3, 1), 3.3, 0.05);
  EXPECT_NEAR(seen(3, 3), 5.7, 0.06);
  EXPECT_NEAR(seen(3, 6), 8.0, 0.08);
  EXPECT_NEAR(seen(5, 1), 1.7, 0.05);
  EXPECT_NEAR(seen(5, 3), 2.3, 0.05);
  EXPECT_NEAR(seen(5, 6), 2.8, 0.05);
  // The fewest seeds that show an effect of 1, 2 and 3 sd, for a pair and for the worst of six.
  const auto fewest = [&](double effect, double pairs) {
    int64_t n = 3;
    while (seen(n, pairs) > effect) ++n;
    return n;
  };
  EXPECT_EQ(fewest(1, 1), 10);
  EXPECT_EQ(fewest(1, 6), 16);
  EXPECT_EQ(fewest(2, 1), 5);
  EXPECT_EQ(fewest(2, 6), 7);
  EXPECT_EQ(fewest(3, 1), 4);
}

TEST(Holm, MultipliesByTheComparisonsLeftAndNeverFalls) {
  EXPECT_THAT(holm({0.01, 0.04, 0.03, 0.005}),
              ElementsAre(DoubleEq(0.03), DoubleEq(0.06), DoubleEq(0.06), DoubleEq(0.02)));
  EXPECT_THAT(holm({0.5, 0.9}), ElementsAre(1, 1));
  EXPECT_THAT(holm({0.02}), ElementsAre(0.02));
  EXPECT_THAT(holm({}), IsEmpty());
}

TEST(Holm, AComparisonWithoutANumberStaysOneAndCounts) {
  EXPECT_THAT(holm({0.01, kNaN, 0.02}),
              ElementsAre(DoubleEq(0.03), NanSensitiveDoubleEq(kNaN), DoubleEq(0.04)));
}

TEST(Holm, MakesOneFalseClaimInTwentyFamiliesAtMost) {
  Random random(13, "families");
  int families = 0;
  constexpr int kDraws = 20000;
  for (int draw = 0; draw < kDraws; ++draw) {
    std::vector<double> p;
    for (int i = 0; i < 6; ++i) p.push_back(random.uniform());
    families += std::ranges::min(holm(p)) <= 0.05;
  }
  EXPECT_LT(families, 0.053 * kDraws);
  EXPECT_GT(families, 0.045 * kDraws);
}

TEST(IntervalOfClaim, ExcludesZeroJustWhereTheAdjustedPAllowsAClaim) {
  for (const double mean : {0.5, 1.0, 1.3, 1.5, 2.0, 3.0, 6.0}) {
    const Estimate e = estimate({mean - 1, mean, mean + 1, mean + 0.5, mean - 0.5});
    for (const double factor : {1.0, 2.0, 6.0}) {
      const double p = p_value(e), adjusted = std::min(1.0, factor * p);
      EXPECT_EQ(interval_of_claim(e, p, adjusted, 6).low > 0, adjusted <= kClaimLevel)
          << mean << " and " << factor;
    }
  }
  // All equal, where p says nothing: as wide as for all of them.
  const Estimate equal = estimate({1, 1, 1});
  EXPECT_EQ(interval_of_claim(equal, 0, 0, 6, 0.5).low, at_level(equal, 0.05 / 6, 0.5).low);
}

TEST(HolmInPairs, AQuestionLeavesWhenBothOfItsHypothesesAreRejected) {
  std::vector<double> p = {0.001, 0.02, 0.9}, beyond = {0.002, 0.8, 0.015};
  holm_in_pairs(p, beyond);
  // 0.001 and 0.002 times 3; that question leaves; 0.015, 0.02, 0.8 and 0.9 times 2, until the
  // second leaves with 0.8.
  EXPECT_THAT(p, ElementsAre(DoubleEq(0.003), DoubleEq(0.04), 1));
  EXPECT_THAT(beyond, ElementsAre(DoubleEq(0.006), 1, DoubleEq(0.03)));
  std::vector<double> alone = {0.01, kNaN, 0.02}, none(3, kNaN);
  holm_in_pairs(alone, none);
  EXPECT_THAT(alone, ElementsAre(DoubleEq(0.03), NanSensitiveDoubleEq(kNaN), DoubleEq(0.04)));
}

// Two arms are equal to the reference and two are apart by just the margin: whatever is said of
// the first two as claims, or of the others as equivalences, is false.
TEST(HolmInPairs, ClaimsAndEquivalencesTogetherErrInOneFamilyOfTwenty) {
  constexpr int kDraws = 4000, kQuestions = 4, kSeeds = 10;
  constexpr double kMargin = 3;
  Random random(29, "families with a margin");
  int wrong = 0, wrong_apart = 0;
  for (int draw = 0; draw < kDraws; ++draw) {
    std::vector<double> p, beyond;
    for (int i = 0; i < kQuestions; ++i) {
      std::vector<double> differences;
      for (int seed = 0; seed < kSeeds; ++seed)
        differences.push_back((i < 2 ? 0 : kMargin) + random.normal());
      const Estimate e = estimate(differences);
      p.push_back(p_value(e));
      beyond.push_back(equivalence_p(e, kMargin));
    }
    const auto errs = [](const std::vector<double>& a, const std::vector<double>& b) {
      return std::min({a[0], a[1], b[2], b[3]}) <= kClaimLevel;
    };
    wrong_apart += errs(holm(p), holm(beyond));
    holm_in_pairs(p, beyond);
    wrong += errs(p, beyond);
  }
  EXPECT_LT(wrong, 0.06 * kDraws);  // 0.05 and three standard deviations
  EXPECT_GT(wrong, 0.03 * kDraws);
  EXPECT_GT(wrong_apart, 0.08 * kDraws) << "what a Holm for each would do";
}

// By enumeration: all choices of k, the mean of their best.
double best_of_all_choices(const std::vector<double>& values, int k) {
  double sum = 0;
  int choices = 0;
  for (unsigned set = 0; set < 1u << values.size(); ++set) {
    if (std::popcount(set) != k) continue;
    double best = kInfinity;
    for (size_t i = 0; i < values.size(); ++i) {
      if (set >> i & 1) best = std::min(best, values[i]);
    }
    sum += best;
    ++choices;
  }
  return sum / choices;
}

TEST(ExpectedBest, EqualsTheMeanOverAllChoicesOfTrials) {
  const std::vector<double> values = {3.1, 2.2, 2.9, 5.5, 2.2, 4.0, 2.71};
  const std::vector<double> expected = expected_best(values, true);
  ASSERT_EQ(expected.size(), values.size());
  for (int k = 1; k <= 7; ++k) {
    EXPECT_NEAR(expected[k - 1], best_of_all_choices(values, k), 1e-12) << k;
  }
  std::vector<double> negated;
  for (double value : values) negated.push_back(-value);
  for (size_t k = 0; k < 7; ++k) EXPECT_EQ(expected_best(negated, false)[k], -expected[k]);
}

TEST(ExpectedBest, ADivergedTrialIsTheWorstAndNeverLeftOut) {
  // Of {1, 2, NaN}: one alone may be NaN; of two, the best is 1 twice and 2 once.
  EXPECT_THAT(expected_best({kNaN, 2, 1}, true),
              ElementsAre(NanSensitiveDoubleEq(kNaN), DoubleEq(4.0 / 3), DoubleEq(1)));
  EXPECT_THAT(expected_best({}, true), IsEmpty());
}

TEST(Speedup, OfARunThatNeverArrivesIsZeroOrInfiniteOrUnknown) {
  EXPECT_EQ(speedup(300, 200), 1.5);
  EXPECT_EQ(speedup(kInfinity, 200), kInfinity);
  EXPECT_EQ(speedup(300, kInfinity), 0);
  EXPECT_TRUE(std::isnan(speedup(kInfinity, kInfinity)));
}

TEST(TValue, IsTheMeanOverItsStandardError) {
  EXPECT_NEAR(t_value(estimate({1, 2, 3})), 2 * std::sqrt(3.0), 1e-12);
  EXPECT_NEAR(t_value(estimate({-1, -2, -3})), -2 * std::sqrt(3.0), 1e-12);
  EXPECT_TRUE(std::isnan(t_value(estimate({1}))));
  EXPECT_TRUE(std::isnan(t_value(estimate({2, 2})))) << "no spread, no t";
}

}  // namespace
}  // namespace draftlab

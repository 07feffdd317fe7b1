#include "reports/stats/power_law.h"

#include <gmock/gmock.h>

#include <cmath>
#include <limits>

#include "base/random.h"

namespace draftlab {
namespace {

using ::testing::HasSubstr;

double law_loss(double tokens) { return 300 * std::pow(tokens, -0.42) + 2.1; }

std::vector<EndPoint> exact(const std::vector<double>& budgets) {
  std::vector<EndPoint> points;
  for (double tokens : budgets) points.push_back({tokens, law_loss(tokens)});
  return points;
}

TEST(PowerLaw, ThreeExactEndPointsGiveItBackAndNoUncertainty) {
  const PowerLaw law = fit_power_law(exact({1e5, 3e5, 8e5}));
  ASSERT_EQ(law.refusal, "");
  EXPECT_NEAR(law.exponent, 0.42, 1e-10);
  EXPECT_NEAR(law.floor, 2.1, 1e-10);
  EXPECT_NEAR(law.scale * std::pow(law.unit, law.exponent), 300, 1e-7);
  EXPECT_EQ(law.degrees_of_freedom, 0);
  const DataEfficiency twice = data_efficiency(law, 2e5, law_loss(4e5));
  EXPECT_NEAR(twice.ratio, 2, 1e-9);
  EXPECT_TRUE(std::isnan(twice.low) && std::isnan(twice.high));
}

// scipy 1.17.1, curve_fit with all tolerances at 1e-15.
const std::vector<EndPoint> kNoisy = {{1e5, 4.485985}, {2e5, 3.875101}, {4e5, 3.435739},
                                      {8e5, 3.093501}, {1e5, 4.479985}, {2e5, 3.887101},
                                      {4e5, 3.428239}, {8e5, 3.096501}};

TEST(PowerLaw, LeastSquaresEqualScipy) {
  const PowerLaw law = fit_power_law(kNoisy);
  ASSERT_EQ(law.refusal, "");
  EXPECT_NEAR(law.scale, 1.5431166081293741, 1e-7);
  EXPECT_NEAR(law.exponent, 0.419087265629827, 1e-7);
  EXPECT_NEAR(law.floor, 2.0970879033601575, 1e-7);
  EXPECT_NEAR(law.covariance[0][0], 0.002038550269743083, 1e-8);
  EXPECT_NEAR(law.covariance[0][1], -0.0005090598227917276, 1e-8);
  EXPECT_NEAR(law.covariance[2][2], 0.001857488880909277, 1e-8);
  const DataEfficiency efficiency = data_efficiency(law, 4e5, 3.2, 0.004);
  EXPECT_NEAR(efficiency.ratio, 1.5758756043350548, 1e-7);
  EXPECT_NEAR(efficiency.low, 1.534771716093668, 1e-6);
  EXPECT_NEAR(efficiency.high, 1.61808032705941, 1e-6);
}

TEST(PowerLaw, WeightsCount) {
  std::vector<EndPoint> points = kNoisy;
  for (size_t i = 0; i < points.size(); ++i) points[i].weight = 1 + static_cast<double>(i % 4);
  const PowerLaw law = fit_power_law(points);
  EXPECT_NEAR(law.scale, 1.545114019072662, 1e-7);
  EXPECT_NEAR(law.exponent, 0.41855719393416563, 1e-7);
  EXPECT_NEAR(law.floor, 2.0951844051907194, 1e-7);
}

TEST(PowerLaw, DoesNotDependOnTheUnitsOfDataAndLoss) {
  std::vector<EndPoint> points = kNoisy;
  for (EndPoint& p : points) {
    p.tokens *= 1000;
    p.loss = 2 * p.loss + 5;
  }
  const PowerLaw a = fit_power_law(kNoisy), b = fit_power_law(points);
  EXPECT_NEAR(a.exponent, b.exponent, 1e-9);
  EXPECT_NEAR(2 * a.floor + 5, b.floor, 1e-8);
  const DataEfficiency x = data_efficiency(a, 4e5, 3.2), y = data_efficiency(b, 4e8, 11.4);
  EXPECT_NEAR(x.ratio, y.ratio, 1e-8);
  EXPECT_NEAR(x.low, y.low, 1e-7);
}

TEST(PowerLaw, IsRefusedBelowThreeBudgetsHoweverManyRuns) {
  EXPECT_THAT(fit_power_law({}).refusal, HasSubstr("at least 3 budgets"));
  EXPECT_THAT(fit_power_law(exact({1e5, 1e5, 1e5, 1e5})).refusal, HasSubstr("there is 1"));
  EXPECT_THAT(fit_power_law(exact({1e5, 2e5, 1e5, 2e5})).refusal, HasSubstr("there are 2"));
  // Three seeds of one budget see a few labels more or less.
  EXPECT_THAT(fit_power_law(exact({1e5, 1.01e5, 1.02e5})).refusal, HasSubstr("there is 1"));
}

TEST(PowerLaw, IsRefusedForWhatIsNoFallingPowerLaw) {
  EXPECT_THAT(fit_power_law({{1e5, 1}, {2e5, 2}, {4e5, 3}}).refusal, HasSubstr("do not follow"));
  EXPECT_THAT(fit_power_law({{1e5, 3}, {2e5, 3.1}, {4e5, 3.3}}).refusal,
              HasSubstr("do not follow"));
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_THAT(fit_power_law({{1e5, 3}, {2e5, nan}, {4e5, 1}}).refusal, HasSubstr("no finite loss"));
}

// What a line in log tokens gives: free, the exponent goes to 0 and the floor to minus infinity.
TEST(PowerLaw, AStraightLineShowsNoFloor) {
  std::vector<EndPoint> ends;
  for (const double tokens : {1e5, 2e5, 4e5, 8e5}) {
    for (const double noise : {-0.01, 0.004, 0.006})
      ends.push_back({tokens, 9 - 0.5 * std::log(tokens / 1e5) + noise});
  }
  const PowerLaw law = fit_power_law(ends);
  EXPECT_EQ(law.refusal, "");
  EXPECT_TRUE(law.at_bound);
  EXPECT_EQ(law.floor, 0);
  // Halving the distance to a floor of 0 takes the same data as the line says: it is one.
  const LogLine line = fit_log_line(ends);
  EXPECT_NEAR(line.slope, -0.5, 1e-12);
  EXPECT_NEAR(data_efficiency(line, 2e5, 9 - 0.5 * std::log(4.)).ratio, 2, 1e-9);
  EXPECT_TRUE(std::isnan(data_efficiency(line, 8e5, 9 - 0.5 * std::log(16.)).ratio))
      << "no end of the reference is so low";
  EXPECT_TRUE(std::isnan(data_efficiency(line, 1e5, 9.2).ratio)) << "nor so high";
}

// The shape of a published fit: exponent 0.029, floor -26 nats.
TEST(PowerLaw, AFloorBelowZeroIsNoCrossEntropy) {
  std::vector<EndPoint> ends;
  for (const double tokens : {1e5, 2e5, 4e5, 8e5})
    ends.push_back({tokens, 33 * std::pow(tokens / 2.8e5, -0.029) - 26});
  EXPECT_NEAR(fit_power_law(ends, -1e9).floor, -26, 0.1) << "without a bound";
  const PowerLaw law = fit_power_law(ends);
  EXPECT_TRUE(law.at_bound);
  EXPECT_EQ(law.floor, 0);
  EXPECT_GT(law.exponent, 0.029);
}

TEST(PowerLaw, TheAdmissibleFloorsHoldTheTrueOneAndNarrowWithTheScatter) {
  const auto span = [](double scatter) {
    std::vector<EndPoint> ends;
    for (const double tokens : {1e5, 2e5, 4e5, 8e5, 16e5}) {
      for (const double noise : {-scatter, 0., scatter})
        ends.push_back({tokens, 3 * std::sqrt(1e5 / tokens) + 2 + noise});
    }
    double low = INFINITY, high = -INFINITY;
    for (const PowerLaw& law : admissible_laws(ends)) {
      low = std::min(low, law.floor);
      high = std::max(high, law.floor);
    }
    EXPECT_LE(low, 2 + 1e-6);
    EXPECT_GE(high, 2 - 1e-6);
    return high - low;
  };
  EXPECT_LT(span(0.001), span(0.1));
  EXPECT_GT(span(0.1), 0.3);
}

TEST(DataEfficiency, BelowTheFloorNoAmountOfDataIsEnough) {
  const PowerLaw law = fit_power_law(kNoisy);
  EXPECT_TRUE(std::isinf(data_efficiency(law, 4e5, 2.0).ratio));
  EXPECT_TRUE(std::isnan(data_efficiency(law, 4e5, std::nan("")).ratio));
}

TEST(DataEfficiency, NinetyFivePercentIntervalsCoverAboutThatOften) {
  constexpr int kDraws = 4000;
  int held = 0, fitted = 0;
  for (int i = 0; i < kDraws; ++i) {
    Random random(17, "budgets", static_cast<uint64_t>(i));
    std::vector<EndPoint> points;
    for (double tokens : {1e5, 2e5, 4e5, 8e5}) {
      for (int seed = 0; seed < 3; ++seed) {
        points.push_back({tokens, law_loss(tokens) + 0.01 * random.normal()});
      }
    }
    const PowerLaw law = fit_power_law(points);
    if (!law.refusal.empty()) continue;
    ++fitted;
    // The other arm takes 3e5 tokens to where the baseline takes 4.5e5; three seeds of it.
    const double error = 0.01 / std::sqrt(3);
    const double loss = law_loss(4.5e5) + error * random.normal();
    const DataEfficiency efficiency = data_efficiency(law, 3e5, loss, error);
    held += efficiency.low <= 1.5 && 1.5 <= efficiency.high;
  }
  EXPECT_GT(fitted, 0.99 * kDraws);
  EXPECT_GT(held, 0.93 * fitted);
  EXPECT_LT(held, 0.98 * fitted);
}

}  // namespace
}  // namespace draftlab

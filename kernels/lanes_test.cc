#include "kernels/lanes.h"

#include <gtest/gtest.h>

#include <limits>
#include <numeric>
#include <vector>

namespace draftlab {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

TEST(Lanes, TheExponentialOfAFloatIsGoodToTwoUnitsInTheLastPlace) {
  for (double x = -86.9; x < 88; x += 0.0013) {
    const float rounded = static_cast<float>(x);
    const double exact = std::exp(static_cast<double>(rounded));
    ASSERT_NEAR(exponential(rounded) / exact, 1, 1.2e-7) << x;
  }
  EXPECT_EQ(exponential(0.f), 1);
  EXPECT_EQ(exponential(-kInfinity), 0);
  EXPECT_EQ(exponential(-1e30f), 0);
  EXPECT_TRUE(std::isnan(exponential(std::numeric_limits<float>::quiet_NaN())));
}

TEST(Lanes, ExponentialsOfAnyLengthAreThoseOfTheSingleNumbers) {
  for (int64_t n : {0, 1, 15, 16, 17, 100}) {
    std::vector<float> x(n);
    for (int64_t i = 0; i < n; ++i) x[i] = static_cast<float>(i % 7) - 3;
    std::vector<float> expected = x;
    for (float& value : expected) value = exponential(value - 2);
    const float sum = exponentials(x.data(), n, 2.f);
    EXPECT_EQ(x, expected);
    EXPECT_NEAR(sum, std::accumulate(expected.begin(), expected.end(), 0.0), 1e-5);
  }
}

TEST(Lanes, TheMaximumMayStandAnywhere) {
  for (int64_t n : {1, 16, 37}) {
    for (int64_t at = 0; at < n; ++at) {
      std::vector<double> x(n, -5.0);
      x[at] = -1;
      EXPECT_EQ(maximum(x.data(), n), -1);
    }
  }
  EXPECT_EQ(maximum(static_cast<const float*>(nullptr), 0), -kInfinity);
}

TEST(Lanes, ADotProductCountsEveryNumberOnce) {
  for (int64_t n : {0, 5, 16, 33}) {
    std::vector<double> ones(n, 1.0), ramp(n);
    std::iota(ramp.begin(), ramp.end(), 0);
    EXPECT_EQ(dot(ones.data(), ramp.data(), n), n * (n - 1) / 2);
  }
}

}  // namespace
}  // namespace draftlab

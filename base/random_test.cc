#include "base/random.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <vector>

namespace draftlab {
namespace {

TEST(Random, IsAPureFunctionOfSeedNameAndIndex) {
  EXPECT_EQ(Random(1, "data", 2).next(), Random(1, "data", 2).next());
  EXPECT_NE(Random(1, "data", 2).next(), Random(2, "data", 2).next());
  EXPECT_NE(Random(1, "data", 2).next(), Random(1, "noise", 2).next());
  EXPECT_NE(Random(1, "data", 2).next(), Random(1, "data", 3).next());
  // The value itself, so that a change of the generator is noticed: every cached result depends on
  // it.
  EXPECT_EQ(Random(1, "data", 2).next(), 5351176308760529173u);
}

TEST(Random, NormalHasMeanZeroAndVarianceOne) {
  Random random(1, "normal");
  double sum = 0, squares = 0;
  const int n = 200000;
  for (int i = 0; i < n; ++i) {
    const double value = random.normal();
    sum += value;
    squares += value * value;
  }
  EXPECT_NEAR(sum / n, 0, 4 / std::sqrt(n));
  EXPECT_NEAR(squares / n, 1, 4 * std::sqrt(2.0 / n));
}

TEST(Random, BelowCoversItsRangeEvenly) {
  Random random(1, "below");
  std::vector<int> count(7);
  for (int i = 0; i < 70000; ++i) ++count[random.below(7)];
  for (int c : count) EXPECT_NEAR(c, 10000, 4 * 100);
}

TEST(Random, APermutationHoldsEveryIndexOnce) {
  auto order = permutation(100, Random(3, "order"));
  EXPECT_FALSE(std::is_sorted(order.begin(), order.end()));
  std::sort(order.begin(), order.end());
  for (int64_t i = 0; i < 100; ++i) EXPECT_EQ(order[i], i);
  EXPECT_TRUE(permutation(0, Random(3, "order")).empty());
}

TEST(Random, EveryPermutationComesUpEquallyOften) {
  std::map<std::vector<int64_t>, int> count;
  for (int i = 0; i < 6000; ++i) ++count[permutation(3, Random(i, "order"))];
  EXPECT_EQ(count.size(), 6u);
  for (const auto& [order, times] : count) EXPECT_NEAR(times, 1000, 4 * 30);
}

TEST(Random, UniformNumbersCoverTheUnitIntervalWithoutItsEnd) {
  Random random(1, "uniform");
  double least = 1, most = 0, sum = 0;
  for (int i = 0; i < 100000; ++i) {
    const double value = random.uniform();
    least = std::min(least, value);
    most = std::max(most, value);
    sum += value;
  }
  EXPECT_GE(least, 0);
  EXPECT_LT(most, 1);
  EXPECT_LT(least, 1e-3);
  EXPECT_GT(most, 1 - 1e-3);
  EXPECT_NEAR(sum / 100000, 0.5, 4 * 0.29 / std::sqrt(100000));
}

TEST(Random, NormalNumbersComeInIndependentPairs) {
  Random random(1, "normal");
  double products = 0;
  const int n = 100000;
  for (int i = 0; i < n; ++i) {
    const double first = random.normal();
    products += first * random.normal();
  }
  EXPECT_NEAR(products / n, 0, 4 / std::sqrt(n));
}

}  // namespace
}  // namespace draftlab

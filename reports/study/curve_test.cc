#include "reports/study/curve.h"

#include <gmock/gmock.h>

#include <cmath>

namespace draftlab {
namespace {

TEST(MeanAtCommonX, IsOverAllCurvesAndOnlyWhereEachHasAPoint) {
  const std::vector<Point> mean =
      mean_at_common_x({{{0, 1}, {10, 2}, {20, 3}}, {{0, 3}, {20, 5}}, {{0, 5}, {10, 9}, {20, 7}}});
  ASSERT_EQ(mean.size(), 2u);
  EXPECT_EQ(mean[0].x, 0);
  EXPECT_EQ(mean[0].y, 3);
  EXPECT_EQ(mean[1].x, 20);
  EXPECT_EQ(mean[1].y, 5);
  EXPECT_TRUE(mean_at_common_x({}).empty());
}

TEST(Survival, GivenTheOnesBeforeMultipliesBackToTheShares) {
  const std::vector<Point> given = given_the_ones_before({{1, 0.5}, {2, 0.2}, {3, 0}, {4, 0}});
  ASSERT_EQ(given.size(), 4u);
  EXPECT_NEAR(given[0].y, 0.5, 1e-12);
  EXPECT_NEAR(given[1].y, 0.4, 1e-12);
  EXPECT_EQ(given[2].y, 0);
  EXPECT_TRUE(std::isnan(given[3].y));  // no block got there
}

}  // namespace
}  // namespace draftlab

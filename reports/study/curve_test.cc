#include "reports/study/curve.h"

#include <gmock/gmock.h>

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

}  // namespace
}  // namespace draftlab

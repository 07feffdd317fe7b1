#include "model/anchors.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

namespace draftlab {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

const std::vector<uint8_t> kMask = {0, 0, 0, 1, 1, 1, 0, 1, 1, 1, 1, 0};

TEST(Anchors, AreEligibleWhereTheTokenAndItsSuccessorAreSupervised) {
  EXPECT_THAT(eligible_anchors(kMask), ElementsAre(3, 4, 7, 8, 9));
  EXPECT_THAT(eligible_anchors(std::vector<uint8_t>{1, 1, 1}), ElementsAre(0, 1));
  EXPECT_THAT(eligible_anchors(std::vector<uint8_t>{0, 1, 0}), IsEmpty())
      << "a lone supervised token";
  EXPECT_THAT(eligible_anchors(std::vector<uint8_t>{}), IsEmpty());
}

TEST(Anchors, AreAllTakenWhenThereAreNotMore) {
  EXPECT_EQ(draw_anchors(kMask, 5, 1, 2, 3), eligible_anchors(kMask));
  EXPECT_EQ(draw_anchors(kMask, 512, 1, 2, 3), eligible_anchors(kMask));
}

TEST(Anchors, AreDrawnWithoutReplacementRisingAndReproducibly) {
  const std::vector<uint8_t> mask(100, 1);
  const auto drawn = draw_anchors(mask, 20, 1, 2, 3);
  ASSERT_EQ(drawn.size(), 20u);
  EXPECT_TRUE(std::is_sorted(drawn.begin(), drawn.end()));
  EXPECT_EQ(std::adjacent_find(drawn.begin(), drawn.end()), drawn.end());
  EXPECT_EQ(drawn, draw_anchors(mask, 20, 1, 2, 3));
  EXPECT_NE(drawn, draw_anchors(mask, 20, 9, 2, 3)) << "seed";
  EXPECT_NE(drawn, draw_anchors(mask, 20, 1, 9, 3)) << "record";
  EXPECT_NE(drawn, draw_anchors(mask, 20, 1, 2, 9)) << "visit";
}

TEST(Anchors, AreDrawnEvenly) {
  const std::vector<uint8_t> mask(11, 1);  // 10 eligible
  std::map<int64_t, int> count;
  for (int64_t visit = 0; visit < 10000; ++visit)
    for (int64_t anchor : draw_anchors(mask, 3, 1, 0, visit)) ++count[anchor];
  for (int64_t anchor = 0; anchor < 10; ++anchor) EXPECT_NEAR(count[anchor], 3000, 4 * 46);
}

TEST(Anchors, OfAnEvaluationHaveAllTheirLabelsSupervised) {
  EXPECT_THAT(evaluation_anchors(kMask, 3, 1), ElementsAre(3, 7, 8));
  EXPECT_THAT(evaluation_anchors(kMask, 4, 1), ElementsAre(7));
  EXPECT_THAT(evaluation_anchors(std::vector<uint8_t>(10, 1), 3, 3), ElementsAre(0, 3, 6));
}

}  // namespace
}  // namespace draftlab

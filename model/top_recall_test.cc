#include "model/top_recall.h"

#include <gmock/gmock.h>

#include <cmath>

#include "base/random.h"
#include "model/acceptance.h"

namespace draftlab {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::IsNan;

TEST(TopRecall, CountsLabelsByTheirPlaceAndLeadingSlotsByTheWholeList) {
  TopRecallCounter counter(/*block_size=*/4, /*k=*/2);
  // Two blocks of slots 0 to 3, two tokens each.
  counter.add(std::vector<int64_t>{-1, -1, 5, 6, 7, 8, 9, 1,    //
                                   -1, -1, 5, 6, 7, 8, 9, -1},  //
              std::vector<int64_t>{-1, 6, 7, 2,                 // second, first, not there
                                   -1, 4, 8, -1});              // not there, second, no label
  EXPECT_THAT(counter.share(1), ElementsAre(0, 0.5, 0));
  EXPECT_THAT(counter.share(2), ElementsAre(0.5, 1, 0));
  EXPECT_EQ(counter.length(), 1 + (2 + 0) / 2.0);
}

TEST(TopRecall, OfOneTokenIsAccuracyAndMoreTokensFindNoFewer) {
  constexpr int64_t kBlocks = 50, kSize = 5, kTop = 4;
  Random random(3, "lists");
  std::vector<int64_t> ids, first, labels, prompts(kBlocks, 0);
  for (int64_t row = 0; row < kBlocks * kSize; ++row) {
    const auto start = static_cast<int64_t>(random.below(7));
    for (int64_t i = 0; i < kTop; ++i) ids.push_back((start + i) % 7);
    first.push_back(start);
    labels.push_back(static_cast<int64_t>(random.below(8)) - 1);
  }
  TopRecallCounter recall(kSize, kTop), narrow(kSize, 1);
  recall.add(ids, labels);
  narrow.add(first, labels);
  AcceptanceCounter acceptance(kSize);
  acceptance.add(first, labels, prompts);
  const Acceptance expected = acceptance.result();
  EXPECT_EQ(recall.share(1), expected.slot_accuracy);
  EXPECT_DOUBLE_EQ(narrow.length(), expected.acceptance_length);
  EXPECT_GT(recall.length(), expected.acceptance_length);
  for (int64_t m = 2; m <= kTop; ++m)
    for (int64_t k = 0; k < kSize - 1; ++k) EXPECT_GE(recall.share(m)[k], recall.share(m - 1)[k]);
}

TEST(TopRecall, WithoutABlockNothingIsKnown) {
  const TopRecallCounter counter(3, 2);
  EXPECT_THAT(counter.share(2), Each(IsNan()));
  EXPECT_TRUE(std::isnan(counter.length()));
}

}  // namespace
}  // namespace draftlab

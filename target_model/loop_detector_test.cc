#include "target_model/loop_detector.h"

#include <gtest/gtest.h>

namespace draftlab {
namespace {

// Tokens kept of a response; its length if it does not loop. `used`: tokens seen until the loop was
// noticed.
int64_t kept(const std::vector<int32_t>& tokens, int64_t* used = nullptr) {
  LoopDetector detector;
  for (size_t i = 0; i < tokens.size(); ++i) {
    if (const auto keep = detector.add(tokens[i])) {
      if (used) *used = static_cast<int64_t>(i) + 1;
      return *keep;
    }
  }
  return static_cast<int64_t>(tokens.size());
}

TEST(LoopDetector, ThreeOccurrencesAreNoLoop) {
  EXPECT_EQ(kept({1, 2, 3, 4, 1, 2, 3, 4, 1, 2, 3, 4}), 12);
  EXPECT_EQ(kept({1, 2, 3}), 3);
  EXPECT_EQ(kept({}), 0);
}

TEST(LoopDetector, TheFourthOccurrenceCutsBeforeTheSecond) {
  int64_t used = 0;
  EXPECT_EQ(kept({9, 8, 1, 2, 3, 4, 7, 1, 2, 3, 4, 1, 2, 3, 4, 6, 1, 2, 3, 4, 5}, &used), 7);
  EXPECT_EQ(used, 20);
}

TEST(LoopDetector, OfOneTokenForEverTheFirstRunIsKept) {
  int64_t used = 0;
  EXPECT_EQ(kept({5, 5, 5, 5, 5, 5, 5, 5}, &used), 4);
  EXPECT_EQ(used, 7);
}

}  // namespace
}  // namespace draftlab

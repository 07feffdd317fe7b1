#include "model/bigram.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "testing/owned_record.h"

namespace draftlab {
namespace {

using testing::ElementsAre;

TEST(BigramChain, FollowsTheMostFrequentSuccessor) {
  const OwnedRecord a({1, 2, 1, 3, 1, 3, 4}, std::vector<uint8_t>(7, 1));
  const std::vector<StoreRecord> records = {a.view()};
  const BigramChain chain(records, 6);
  EXPECT_EQ(chain.successor(1), 3);
  EXPECT_EQ(chain.successor(2), 1);
  EXPECT_EQ(chain.successor(4), -1);
  EXPECT_EQ(chain.successor(5), -1);
}

TEST(BigramChain, TakesTheLowestOfEquallyFrequentSuccessors) {
  const OwnedRecord a({1, 5, 1, 2, 1}, std::vector<uint8_t>(5, 1));
  const std::vector<StoreRecord> records = {a.view()};
  EXPECT_EQ(BigramChain(records, 6).successor(1), 2);
}

TEST(BigramChain, CountsOnlySupervisedNeighbours) {
  const OwnedRecord a({1, 2, 1, 2, 1, 3}, {0, 0, 0, 0, 1, 1});
  const std::vector<StoreRecord> records = {a.view()};
  const BigramChain chain(records, 6);
  EXPECT_EQ(chain.successor(1), 3);
  EXPECT_EQ(chain.successor(2), -1);
}

TEST(BigramChain, DraftsFromTheAnchorsTokenUntilAnUnseenOne) {
  const OwnedRecord a({1, 2, 3, 4}, std::vector<uint8_t>(4, 1));
  const std::vector<StoreRecord> records = {a.view()};
  const BigramChain chain(records, 6);
  const std::vector<AnchoredSequence> sequences = {{a.view(), {0, 2}}};
  EXPECT_THAT(chain.draft(sequences, 4), ElementsAre(-1, 2, 3, 4, -1, 4, -1, -1));
}

}  // namespace
}  // namespace draftlab

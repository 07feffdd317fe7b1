#include "train/planned_split.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <set>

#include "base/error.h"
#include "testing/small_store.h"

namespace draftlab {
namespace {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

// Of the store's six prompts the n-th and the one three behind it are the same tokens; the prompt
// file puts each beside its neighbour instead.
class PlannedSplit : public SmallStore {
 protected:
  void SetUp() override {
    SmallStore::SetUp();
    int64_t n = 0;
    build([&](StoredSequence& s) {
      for (int64_t i = 0; i < s.prompt_length; ++i)
        s.token_ids[i] = static_cast<int32_t>(10 * (n % 3) + i);
      s.group = "pair " + std::to_string(n / 2);
      ++n;
    });
  }
  std::set<std::set<int64_t>> pairs(const std::string& by) {
    StoreReader reader(folder_);
    const SplitRecords split =
        planned_split(reader, {.train = 2, .tuning = 2, .held_out = 2, .by = by});
    std::set<std::set<int64_t>> pairs;
    for (const auto* list : {&split.train, &split.tuning, &split.held_out})
      pairs.insert({list->begin(), list->end()});
    return pairs;
  }
};

TEST_F(PlannedSplit, KeepsTogetherWhatItIsBy) {
  EXPECT_EQ(pairs("group"), (std::set<std::set<int64_t>>{{0, 1}, {2, 3}, {4, 5}}));
  EXPECT_EQ(pairs("similarity"), (std::set<std::set<int64_t>>{{0, 3}, {1, 4}, {2, 5}}));
  EXPECT_NE(pairs("sequence"), pairs("group"));
  EXPECT_NE(pairs("sequence"), pairs("similarity"));
}

TEST_F(PlannedSplit, AGroupOfNearCopiesIsCalledAfterItsFirstPrompt) {
  StoreReader reader(folder_);
  EXPECT_THAT(
      [&] { planned_split(reader, {.train = 1, .tuning = 0, .held_out = 1, .by = "similarity"}); },
      ThrowsMessage<Error>(HasSubstr("the largest group, the near copies of p")));
}

}  // namespace
}  // namespace draftlab

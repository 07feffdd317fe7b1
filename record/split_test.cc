#include "record/split.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <set>

#include "base/error.h"

namespace draftlab {
namespace {

using ::testing::HasSubstr;
using ::testing::SizeIs;
using ::testing::ThrowsMessage;

std::vector<const std::vector<int64_t>*> lists(const SplitRecords& split) {
  return {&split.train, &split.tuning, &split.held_out};
}

// Groups of these sizes, their records one after another.
std::vector<std::string> groups(const std::vector<int64_t>& sizes) {
  std::vector<std::string> group_of;
  for (size_t g = 0; g < sizes.size(); ++g)
    group_of.insert(group_of.end(), sizes[g], "group " + std::to_string(g));
  return group_of;
}

SplitConfig asks(int64_t train, int64_t tuning, int64_t held_out) {
  return {.train = train, .tuning = tuning, .held_out = held_out, .by = "group"};
}

TEST(Split, ListsAreDisjointAndDoNotDependOnEachOthersSizes) {
  const SplitRecords split = split_records({.train = 5, .tuning = 2, .held_out = 3}, 12, "s");
  std::set<int64_t> all;
  for (const auto* list : lists(split)) all.insert(list->begin(), list->end());
  EXPECT_EQ(all.size(), 10u);
  EXPECT_EQ(split_records({.train = 5, .tuning = 0, .held_out = 1}, 12, "s").train, split.train);
  EXPECT_THAT([] { split_records({.train = 10, .tuning = 2, .held_out = 1}, 12, "store x"); },
              ThrowsMessage<Error>(
                  HasSubstr("store x: the split asks for 13 sequences, the store has 12")));
}

TEST(SplitByGroup, FillsEveryListAndNoTwoListsShareAGroup) {
  const std::vector<std::vector<int64_t>> stores = {
      {30, 28, 27, 25, 24, 22, 12, 8, 4, 3, 3, 2, 2, 2, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1},
      std::vector<int64_t>(204, 1),
      std::vector<int64_t>(51, 4),
      std::vector<int64_t>(60, 4)};
  for (const auto& sizes : stores) {
    const std::vector<std::string> group_of = groups(sizes);
    const SplitConfig config = asks(160, 16, 20);
    const SplitRecords split = split_groups(config, group_of, "store");
    EXPECT_THAT(split.train, SizeIs(160));
    EXPECT_THAT(split.tuning, SizeIs(16));
    EXPECT_THAT(split.held_out, SizeIs(20));
    std::set<int64_t> records;
    std::set<std::string> seen_groups;
    for (const auto* list : lists(split)) {
      std::set<std::string> here;
      for (const int64_t record : *list) {
        EXPECT_TRUE(records.insert(record).second) << "record " << record << " twice";
        here.insert(group_of[record]);
      }
      for (const std::string& group : here)
        EXPECT_TRUE(seen_groups.insert(group).second) << group << " is in two lists";
    }
  }
}

TEST(SplitByGroup, AGroupOfManyPromptsIsTrainedOnAndNotMeasuredOn) {
  const std::vector<std::string> group_of =
      groups({12, 12, 12, 4, 4, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1});
  const SplitRecords split = split_groups(asks(44, 0, 16), group_of, "store");
  for (const int64_t record : split.held_out)
    EXPECT_GE(record, 36) << group_of[record] << " has twelve prompts";
}

TEST(SplitByGroup, IsTheSameWhateverTheGroupsAreCalled) {
  const std::vector<std::string> group_of = groups({5, 4, 3, 3, 2, 2, 1, 1, 1, 1, 1});
  std::vector<std::string> renamed = group_of;
  for (std::string& group : renamed) group = std::string(12 - std::stoi(group.substr(6)), 'x');
  const SplitRecords a = split_groups(asks(12, 3, 4), group_of, "store"),
                     b = split_groups(asks(12, 3, 4), renamed, "store");
  for (size_t i = 0; i < 3; ++i) EXPECT_EQ(*lists(a)[i], *lists(b)[i]);
}

// No list needs all of the last groups; what is left over may be in none, and not in another list.
TEST(SplitByGroup, FillsAListWithAPartOfAGroupRatherThanNotAtAll) {
  const std::vector<std::string> group_of = groups({7, 7, 7, 7, 7});
  const SplitRecords split = split_groups(asks(14, 0, 10), group_of, "store");
  EXPECT_THAT(split.train, SizeIs(14));
  EXPECT_THAT(split.held_out, SizeIs(10));
  for (const int64_t a : split.train)
    for (const int64_t b : split.held_out) EXPECT_NE(group_of[a], group_of[b]);
}

TEST(SplitByGroup, TooFewOrTooLargeGroupsAreRefusedWithTheirNumbers) {
  const auto refused = [](const SplitConfig& config, const std::vector<int64_t>& sizes,
                          const std::string& text) {
    EXPECT_THAT([&] { split_groups(config, groups(sizes), "store x"); },
                ThrowsMessage<Error>(HasSubstr("store x: " + text)));
  };
  refused(asks(10, 0, 3), {11, 1, 1, 1},
          "the largest group, group 0, has 11 of the 14 sequences, more than split.train, 10");
  refused(asks(10, 0, 4), {10, 1, 1, 1}, "the split asks for 14 sequences, the store has 13");
  refused(asks(10, 2, 2), {10, 4},
          "the split asks for 10 training, 2 tuning and 2 held-out sequences, and no two of them "
          "share a group; the 2 groups here, the largest of 10 sequences, fill 10 "
          "training, 2 tuning and 0 held-out");
  EXPECT_THAT(
      [] {
        split_groups(asks(1, 0, 1), {"a", "", ""}, "store x");
      },
      ThrowsMessage<Error>(HasSubstr("store x: 2 of the 3 prompts have no group; give")));
}

}  // namespace
}  // namespace draftlab

#include "train/sample_order.h"

#include <gmock/gmock.h>

#include <map>
#include <set>

#include "base/error.h"

namespace draftlab {
namespace {

TEST(SampleOrder, EveryEpochVisitsEveryPlaceOnceAlsoWhereBatchesCrossEpochs) {
  std::map<int64_t, std::set<int64_t>> seen;
  for (int64_t step = 0; step < 35; ++step) {  // 35 * 4 visits = 20 epochs of 7
    for (const Visit& visit : visits_of_step(7, 4, 1, step)) {
      EXPECT_TRUE(seen[visit.epoch].insert(visit.place).second);
    }
  }
  EXPECT_EQ(seen.size(), 20u);
  for (const auto& [epoch, places] : seen) EXPECT_EQ(places.size(), 7u);
}

TEST(SampleOrder, IsAPureFunctionOfSeedAndStep) {
  const auto places = [](int64_t seed, int64_t step) {
    std::vector<int64_t> places;
    for (const Visit& visit : visits_of_step(100, 8, seed, step)) places.push_back(visit.place);
    return places;
  };
  EXPECT_EQ(places(1, 5), places(1, 5));
  EXPECT_NE(places(1, 5), places(2, 5));
  EXPECT_NE(places(1, 5), places(1, 6));
}

TEST(Split, ListsAreDisjointAndDoNotDependOnEachOthersSizes) {
  const SplitRecords split = split_records({.train = 5, .tuning = 2, .held_out = 3}, 12, "s");
  std::set<int64_t> all;
  for (const auto* list : {&split.train, &split.tuning, &split.held_out})
    all.insert(list->begin(), list->end());
  EXPECT_EQ(all.size(), 10u);
  EXPECT_EQ(split_records({.train = 5, .tuning = 0, .held_out = 1}, 12, "s").train, split.train);
  EXPECT_THAT([] { split_records({.train = 10, .tuning = 2, .held_out = 1}, 12, "store x"); },
              ::testing::ThrowsMessage<Error>(::testing::HasSubstr(
                  "store x: the split asks for 13 sequences, the store has 12")));
}

}  // namespace
}  // namespace draftlab

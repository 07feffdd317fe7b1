#include "train/sample_order.h"

#include <gtest/gtest.h>

#include <map>
#include <set>

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

}  // namespace
}  // namespace draftlab

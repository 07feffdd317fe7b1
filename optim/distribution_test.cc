#include "optim/distribution.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

namespace draftlab {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(Distribution, HasEveryTaskOnce) {
  for (const int threads : {1, 2, 3, 8}) {
    const std::vector<double> costs = {3, 1, 4, 1, 5, 9, 2, 6};
    const Distribution shared = distribute(costs, threads);
    std::multiset<size_t> seen(shared.alone.begin(), shared.alone.end());
    for (const auto& tasks : shared.by_thread) seen.insert(tasks.begin(), tasks.end());
    EXPECT_EQ(seen, (std::multiset<size_t>{0, 1, 2, 3, 4, 5, 6, 7})) << threads;
  }
  EXPECT_THAT(distribute({}, 2).alone, IsEmpty());
}

TEST(Distribution, EqualTasksRunSideBySide) {
  const Distribution shared = distribute({1, 1, 1, 1}, 2);
  EXPECT_THAT(shared.alone, IsEmpty());
  EXPECT_THAT(shared.by_thread, ElementsAre(ElementsAre(0, 2), ElementsAre(1, 3)));
}

TEST(Distribution, ATaskThatOutweighsTheOthersGetsAllThreads) {
  const Distribution shared = distribute({1, 20, 1}, 2);
  EXPECT_THAT(shared.alone, ElementsAre(1));
  EXPECT_THAT(shared.by_thread, ElementsAre(ElementsAre(0), ElementsAre(2)));
}

TEST(Distribution, AnOddTaskIsNotWaitedFor) {
  // 1 / (2 * .88) + 1 is earlier than two in a row.
  const Distribution shared = distribute({1, 1, 1}, 2);
  EXPECT_THAT(shared.alone, ElementsAre(0));
}

TEST(Distribution, OneThreadDoesAllAlone) {
  const Distribution shared = distribute({1, 3, 2}, 1);
  EXPECT_THAT(shared.alone, ElementsAre(1, 2, 0));
  EXPECT_THAT(shared.by_thread, IsEmpty());
}

}  // namespace
}  // namespace draftlab

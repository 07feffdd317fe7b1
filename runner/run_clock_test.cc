#include "runner/run_clock.h"

#include <gtest/gtest.h>

namespace draftlab {
namespace {

TEST(RunClock, StartsAtTheWallAndThenRunsEvenlyWhateverHappensToTheWall) {
  double steady = 7;
  const auto now = run_clock(1000, 900, [&] { return steady; });
  EXPECT_EQ(now(), 1000);
  steady = 12.5;
  EXPECT_EQ(now(), 1005.5);
}

TEST(RunClock, StartsAtTheLatestEventWhereTheWallWasSetBack) {
  double steady = 3;
  const auto now = run_clock(1000, 5000, [&] { return steady; });
  EXPECT_EQ(now(), 5000);
  steady = 4;
  EXPECT_EQ(now(), 5001);
}

}  // namespace
}  // namespace draftlab

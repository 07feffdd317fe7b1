#include "optim/schedule.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/error.h"

namespace draftlab {
namespace {

TEST(Schedule, EqualsSpecForgesWarmUpAndCosine) {
  const auto rate = [](int64_t t) { return 6e-4 * schedule_factor("cosine", 0.04, 100, t); };
  EXPECT_NEAR(rate(0), 1.5e-4, 1e-18);
  EXPECT_NEAR(rate(1), 3e-4, 1e-18);
  EXPECT_NEAR(rate(2), 4.5e-4, 1e-18);
  EXPECT_NEAR(rate(3), 6e-4, 1e-18);
  EXPECT_NEAR(rate(4), 6e-4, 1e-18);
  EXPECT_NEAR(rate(5), 5.998394e-4, 5e-11);
  EXPECT_NEAR(rate(50), 3.196209e-4, 5e-11);
  EXPECT_NEAR(rate(99), 1.606e-7, 5e-11);
}

TEST(Schedule, EndsWithItsSteps) {
  EXPECT_THROW(schedule_factor("cosine", 0.04, 100, 100), Error);
  EXPECT_THROW(schedule_factor("constant", 0, 100, -1), Error);
}

TEST(Schedule, ConstantStaysAtOneAfterWarmUp) {
  EXPECT_DOUBLE_EQ(schedule_factor("constant", 0.5, 10, 3), 0.8);
  EXPECT_EQ(schedule_factor("constant", 0.5, 10, 4), 1);
  EXPECT_EQ(schedule_factor("constant", 0.5, 10, 9), 1);
  EXPECT_EQ(schedule_factor("constant", 0, 1, 0), 1);
}

TEST(Schedule, RisesThenFalls) {
  double before = 0;
  for (int64_t t = 0; t < 200; ++t) {
    const double now = schedule_factor("cosine", 0.1, 200, t);
    EXPECT_GT(now, 0);
    EXPECT_LE(now, 1);
    EXPECT_TRUE(t < 20 ? now > before : t > 20 ? now < before : now == 1) << t;
    before = now;
  }
  EXPECT_EQ(schedule_factor("cosine", 1, 200, 199), 1);  // all warm-up
}

TEST(Schedule, ASegmentGoesOnOrRestartsAndWarmsUpAgain) {
  SegmentConfig segment;
  segment.training = {.steps = 100, .schedule = "cosine", .warmup = 0.1};
  segment.from_step = 40;
  segment.to_step = 100;
  const auto whole = [](int64_t t) { return schedule_factor("cosine", 0.1, 100, t); };
  EXPECT_EQ(schedule_factor(segment, 40), whole(40));
  segment.start.rewarmup = 4;
  EXPECT_DOUBLE_EQ(schedule_factor(segment, 40), whole(40) / 4);
  EXPECT_DOUBLE_EQ(schedule_factor(segment, 42), whole(42) * 3 / 4);
  EXPECT_EQ(schedule_factor(segment, 43), whole(43));
  segment.start = {.schedule_from = 40};
  EXPECT_EQ(schedule_factor(segment, 40), schedule_factor("cosine", 0.1, 60, 0));
  EXPECT_EQ(schedule_factor(segment, 99), schedule_factor("cosine", 0.1, 60, 59));
}

TEST(Schedule, RefusesAnUnknownName) { EXPECT_THROW(schedule_factor("linear", 0, 10, 5), Error); }

}  // namespace
}  // namespace draftlab

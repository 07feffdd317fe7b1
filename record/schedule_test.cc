#include "record/schedule.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/error.h"

namespace draftlab {
namespace {

double factor(const std::string& schedule, double warmup, int64_t steps, int64_t t) {
  return schedule_of({.steps = steps, .schedule = schedule, .warmup = warmup}).factor(t);
}

TEST(Schedule, EqualsSpecForgesWarmUpAndCosine) {
  const auto rate = [](int64_t t) { return 6e-4 * factor("cosine", 0.04, 100, t); };
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
  EXPECT_THROW(factor("cosine", 0.04, 100, 100), Error);
  EXPECT_THROW(factor("constant", 0, 100, -1), Error);
}

TEST(Schedule, ConstantStaysAtOneAfterWarmUp) {
  EXPECT_DOUBLE_EQ(factor("constant", 0.5, 10, 3), 0.8);
  EXPECT_EQ(factor("constant", 0.5, 10, 4), 1);
  EXPECT_EQ(factor("constant", 0.5, 10, 9), 1);
  EXPECT_EQ(factor("constant", 0, 1, 0), 1);
}

TEST(Schedule, RisesThenFalls) {
  const Schedule schedule = schedule_of({.steps = 200, .schedule = "cosine", .warmup = 0.1});
  EXPECT_EQ(schedule.warmup_end, 20);
  double before = 0;
  for (int64_t t = 0; t < 200; ++t) {
    const double now = schedule.factor(t);
    EXPECT_GT(now, 0);
    EXPECT_LE(now, 1);
    EXPECT_TRUE(t < 20 ? now > before : t > 20 ? now < before : now == 1) << t;
    EXPECT_EQ(schedule.decays(t), t >= 20) << t;
    before = now;
  }
  EXPECT_EQ(factor("cosine", 1, 200, 199), 1);  // all warm-up
  EXPECT_FALSE(schedule_of({.steps = 200, .schedule = "constant"}).decays(199));
}

TEST(Schedule, IsBelowAShareOfItsPeakOnTheWayDownAlone) {
  const Schedule cosine = schedule_of({.steps = 100, .schedule = "cosine", .warmup = 0.2});
  // A cosine is below a tenth of its peak in the last 20.5 % of the way, below a hundredth in the
  // last 6.4 %: of 80 steps behind the warm-up from the 64th and from the 75th on.
  for (int64_t t = 0; t <= 100; ++t) {
    EXPECT_EQ(cosine.is_below(0.1, t), t >= 84) << t;
    EXPECT_EQ(cosine.is_below(0.01, t), t >= 95) << t;
  }
  EXPECT_FALSE(schedule_of({.steps = 100, .schedule = "constant"}).is_below(0.1, 100));
}

TEST(Schedule, FromALaterStepOnItIsTheScheduleOfTheStepsThatAreLeft) {
  const TrainingConfig training = {.steps = 100, .schedule = "cosine", .warmup = 0.1};
  const Schedule later = schedule_of(training, 40);
  EXPECT_EQ(later.warmup_end, 46);
  for (int64_t t = 40; t < 100; ++t) EXPECT_EQ(later.factor(t), factor("cosine", 0.1, 60, t - 40));
  EXPECT_THROW(later.factor(39), Error);
}

TEST(Schedule, ASegmentGoesOnOrRestartsAndWarmsUpAgain) {
  SegmentConfig segment;
  segment.training = {.steps = 100, .schedule = "cosine", .warmup = 0.1};
  segment.from_step = 40;
  segment.to_step = 100;
  const auto whole = [](int64_t t) { return factor("cosine", 0.1, 100, t); };
  EXPECT_EQ(schedule_factor(segment, 40), whole(40));
  segment.start.rewarmup = 4;
  EXPECT_DOUBLE_EQ(schedule_factor(segment, 40), whole(40) / 4);
  EXPECT_DOUBLE_EQ(schedule_factor(segment, 42), whole(42) * 3 / 4);
  EXPECT_EQ(schedule_factor(segment, 43), whole(43));
  segment.start = {.schedule_from = 40};
  EXPECT_EQ(schedule_factor(segment, 40), factor("cosine", 0.1, 60, 0));
  EXPECT_EQ(schedule_factor(segment, 99), factor("cosine", 0.1, 60, 59));
}

TEST(Schedule, RefusesAnUnknownName) {
  for (const int64_t t : {0, 5}) EXPECT_THROW(factor("linear", 0.3, 10, t), Error);
}

TEST(Schedule, TheProgressOfACosineIsRecoveredFromItsFactor) {
  EXPECT_NEAR(cosine_progress(1), 0, 1e-12);
  EXPECT_NEAR(cosine_progress(0.5), 0.5, 1e-12);
  EXPECT_NEAR(cosine_progress(0), 1, 1e-12);
  EXPECT_NEAR(cosine_progress(factor("cosine", 0, 100, 37)), 0.37, 1e-12);
}

TEST(SchedulePlace, IsAShareOfTheTrainingAndOfTheWarmUp) {
  const SchedulePlace place = {30, 120, 60};
  EXPECT_TRUE(place.in_warmup());
  EXPECT_EQ(place.share_of_training(), 0.25);
  EXPECT_EQ(place.share_of_warmup(), 0.5);
  EXPECT_FALSE((SchedulePlace{60, 120, 60}).in_warmup());
  EXPECT_TRUE(std::isnan((SchedulePlace{60, 120, 0}).share_of_warmup()));
}

}  // namespace
}  // namespace draftlab

#include "reports/study/speedup.h"

#include <gtest/gtest.h>

#include <cmath>
#include <list>
#include <vector>

namespace draftlab {
namespace {

// Runs with seeds 1, 2, ... that reach the target after so many steps; tokens are ten times as
// many.
class SpeedupTest : public ::testing::Test {
 protected:
  Setting setting(const std::vector<double>& steps, int64_t first_seed = 1) {
    runs_.emplace_back();
    Setting setting;
    for (double at : steps) {
      Result run;
      run.outcome = std::isinf(at) ? "diverged" : "done";
      run.seeds.weights = run.seeds.data = run.seeds.noise = first_seed++;
      run.steps_to_target = at;
      run.tokens_to_target = 10 * at;
      run.seconds_to_target = at / 2;
      runs_.back().push_back(run);
    }
    for (const Result& run : runs_.back()) setting.runs.push_back(&run);
    std::vector<double> tokens;
    for (double at : steps) tokens.push_back(10 * at);
    setting.target.steps = median(steps);
    setting.target.tokens = median(tokens);
    return setting;
  }
  std::list<std::vector<Result>> runs_;
};

TEST_F(SpeedupTest, IsTheRatioOfMediansWithAnIntervalOverEqualSeeds) {
  const Speedup speedup =
      speedup_at_target(setting({200, 400, 800}), setting({100, 100, 100}), Clock::kSteps);
  EXPECT_DOUBLE_EQ(speedup.ratio, 4);
  EXPECT_EQ(speedup.seeds, 3);
  EXPECT_EQ(speedup.reached, 3);
  // Logarithms of 2, 4 and 8 in units of log 2 are 1, 2, 3: mean 2, sd 1, t(0.975, 2) = 4.302653.
  EXPECT_NEAR(speedup.mean, 4, 1e-12);
  EXPECT_NEAR(std::log2(speedup.low), 2 - 4.302652729911275 / std::sqrt(3.0), 1e-9);
  EXPECT_NEAR(std::log2(speedup.high), 2 + 4.302652729911275 / std::sqrt(3.0), 1e-9);
}

TEST_F(SpeedupTest, HasNoIntervalWhereASeedNeverArrives) {
  const Speedup speedup =
      speedup_at_target(setting({200, 400, INFINITY}), setting({100, 100, 100}), Clock::kTokens);
  EXPECT_DOUBLE_EQ(speedup.ratio, 4);
  EXPECT_EQ(speedup.seeds, 3);
  EXPECT_EQ(speedup.reached, 2);
  EXPECT_TRUE(std::isnan(speedup.mean));
  EXPECT_TRUE(std::isnan(speedup.low));
}

TEST_F(SpeedupTest, SaysWhoArrivesAloneAndNothingWhereNobodyDoes) {
  const std::vector<double> never = {INFINITY, INFINITY}, soon = {100, 200};
  EXPECT_EQ(speedup_at_target(setting(never), setting(soon), Clock::kSteps).ratio, INFINITY);
  EXPECT_EQ(speedup_at_target(setting(soon), setting(never), Clock::kSteps).ratio, 0);
  EXPECT_TRUE(std::isnan(speedup_at_target(setting(never), setting(never), Clock::kSteps).ratio));
}

TEST_F(SpeedupTest, OnlySeedsInCommonAndRunsThatEndedArePaired) {
  Setting reference = setting({200, 400, 800}), other = setting({100, 100, 100}, 3);
  EXPECT_EQ(speedup_at_target(reference, other, Clock::kSteps).seeds, 1);
  EXPECT_NEAR(speedup_at_target(reference, other, Clock::kSteps).mean, 8, 1e-12);
  EXPECT_TRUE(std::isnan(speedup_at_target(reference, other, Clock::kSteps).low));
  runs_.front()[2].outcome = "interrupted";
  EXPECT_EQ(speedup_at_target(reference, other, Clock::kSteps).seeds, 0);
  EXPECT_TRUE(std::isnan(speedup_at_target(reference, other, Clock::kSteps).mean));
}

}  // namespace
}  // namespace draftlab

#include "reports/study/step_size.h"

#include <gtest/gtest.h>

namespace draftlab {
namespace {

// A run whose kinds of layer move by so much of their size at steps 10 and 20, the rate being at
// half its height at the second.
Result run_that_moves(const std::vector<std::pair<std::string, double>>& ratios) {
  Result run;
  run.gradients = {{10, 1, 0, 1}, {20, 1, 0, 0.5}};
  for (const auto& [kind, ratio] : ratios) {
    run.config.routing.push_back({.name = "layers.0." + kind + ".weight", .shape = {4, 4}});
    run.updates.push_back({10, kind, "muon", ratio, 1});
    run.updates.push_back({20, kind, "muon", ratio / 2, 1});
  }
  return run;
}

TEST(DeadKinds, AreThoseThatMoveLessThanAHundredthOfTheMedianKind) {
  const Result run =
      run_that_moves({{"q", 0.9e-5}, {"k", 1.1e-5}, {"v", 1e-3}, {"o", 1e-3}, {"up", 2e-3}});
  const std::vector<DeadKind> dead = dead_kinds({&run});
  ASSERT_EQ(dead.size(), 1u);
  EXPECT_EQ(dead[0].kind, "q");
  EXPECT_NEAR(dead[0].share, 0.009, 1e-12);
}

TEST(DeadKinds, HoldZerosThatStayZeros) {
  Result run = run_that_moves({{"q", 0}, {"v", 1e-3}, {"o", 1e-3}});
  for (UpdateRow& row : run.updates)
    if (row.kind == "q") row.weight_rms = 0;
  const std::vector<DeadKind> dead = dead_kinds({&run});
  ASSERT_EQ(dead.size(), 1u);
  EXPECT_EQ(dead[0].kind, "q");
  EXPECT_EQ(dead[0].share, 0);
}

TEST(DeadKinds, AreDeadInMostRunsAndStepsAndNotInOneAlone) {
  const Result dead = run_that_moves({{"q", 1e-6}, {"v", 1e-3}, {"o", 1e-3}});
  const Result live = run_that_moves({{"q", 1e-3}, {"v", 1e-3}, {"o", 1e-3}});
  EXPECT_TRUE(dead_kinds({&dead, &live, &live}).empty());
  EXPECT_EQ(dead_kinds({&dead, &dead, &live}).size(), 1u);
  EXPECT_TRUE(dead_kinds({}).empty());
}

}  // namespace
}  // namespace draftlab

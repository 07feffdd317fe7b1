#include <gmock/gmock.h>

#include <fstream>

#include "source_dir.h"
#include "tests/smoke.h"

namespace draftlab {
namespace {

class FairSweepTest : public SmokeTest {};

// Rates tuned on seeds and prompts of their own until the best lies inside of the grid, five seeds,
// arms above the bigram table, ten epochs: what the checks ask for. Seconds are left to the
// machine.
TEST_F(FairSweepTest, TheChecksLeaveAFairSweepAlone) {
  const std::string out = path("out");
  const Finished run =
      draftlab({"run", std::string(DRAFTLAB_SOURCE_DIR) + "/sweeps/fair_smoke.json", "--out", out,
                "--store", path("store")});
  ASSERT_EQ(run.status, 0) << run.output;
  EXPECT_NE(draftlab({"check", out}).status, 4) << "arms are left to compare";
  std::ifstream checks(RunFolder(out).report() / "checks.csv");
  std::string line;
  int passed = 0;
  while (std::getline(checks, line)) {
    passed += line.find(",passes,") != std::string::npos;
    for (const char* verdict : {",warns,no,", ",refuses,no,"})
      EXPECT_EQ(line.find(verdict), std::string::npos) << line;
  }
  EXPECT_GT(passed, 30);
}

}  // namespace
}  // namespace draftlab

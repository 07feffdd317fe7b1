#include "runner/progress_display.h"

#include <gmock/gmock.h>

#include <sstream>

#include "base/file.h"
#include "record/progress.h"
#include "testing/example_sweep.h"

namespace draftlab {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// AdamW and Muon, 100 steps each, seeds 1 and 2.
class ProgressDisplayTest : public ::testing::Test {
 protected:
  ProgressDisplayTest() : folder_(scratch_.path()) {
    plan_ = example_plan({{"/seeds", "[1, 2]"},
                          {"/arms/1", R"({"name": "muon\u001b", "optimizer": {"kind": "muon"}})"}});
  }
  void report(size_t segment, int64_t step, double rate) {
    const SegmentFolder folder(folder_, plan_.segments[segment].id);
    make_folder(folder.root());
    write_progress(folder.progress(), {step, 100, rate});
  }
  static Outcome done() {
    Outcome outcome;
    outcome.kind = OutcomeKind::kDone;
    outcome.step = 100;
    return outcome;
  }
  ScratchFolder scratch_;
  RunFolder folder_;
  PlanRecord plan_;
  std::ostringstream out_;
};

TEST_F(ProgressDisplayTest, ALogGetsPlainLinesAndASummaryNowAndThen) {
  ProgressDisplay display(plan_, folder_, 1, out_);
  display.started(0, 1000);
  for (double now = 1000; now < 1059; ++now) display.tick(now);
  EXPECT_EQ(out_.str(), "start        adamw seed=1\n");
  report(0, 40, 2);
  display.tick(1061);
  display.ended(0, done(), 1100);
  EXPECT_EQ(out_.str(),
            "start        adamw seed=1\n"
            "0 of 4 done, about 3 min left | adamw seed=1 40/100 2.0 steps/s\n"
            "done         adamw seed=1: step 100, 1 min 40 s (1.0 steps/s)\n");
}

TEST_F(ProgressDisplayTest, ATerminalGetsALineThatFitsAndNoControlCharacterOfAName) {
  ProgressDisplay display(plan_, folder_, 2, out_, [] { return size_t{40}; });
  display.started(0, 1000);
  display.started(2, 1000);
  out_.str("");
  display.tick(1001);
  EXPECT_EQ(out_.str(), "\r\033[K0 of 4 done | adamw seed=1 0/100 | m...");
  display.close();
  EXPECT_TRUE(out_.str().ends_with("\r\033[K"));
}

TEST_F(ProgressDisplayTest, TimeLeftUsesTheRateOfEachKindOfOptimizer) {
  ProgressDisplay display(plan_, folder_, 1, out_);
  EXPECT_FALSE(display.seconds_left());
  display.started(0, 1000);
  display.ended(0, done(), 1010);                        // AdamW: 0.1 s a step
  EXPECT_DOUBLE_EQ(*display.seconds_left(), 300 * 0.1);  // all it knows
  display.started(2, 1010);
  display.ended(2, done(), 1040);  // Muon: 0.3 s a step
  EXPECT_DOUBLE_EQ(*display.seconds_left(), 100 * 0.1 + 100 * 0.3);
}

TEST_F(ProgressDisplayTest, TimeLeftSharesTheWorkButNeverBelowTheLongestSegment) {
  ProgressDisplay display(plan_, folder_, 100, out_);
  display.started(0, 1000);
  display.ended(0, done(), 1010);
  EXPECT_DOUBLE_EQ(*display.seconds_left(), 10);
}

TEST_F(ProgressDisplayTest, ResultsFromBeforeAreCountedAndNotTimed) {
  ProgressDisplay display(plan_, folder_, 1, out_);
  display.finished_before(0);
  display.finished_before(1);
  display.started(2, 1000);
  display.ended(2, done(), 1100);
  EXPECT_DOUBLE_EQ(*display.seconds_left(), 100);
}

TEST_F(ProgressDisplayTest, AResumedSegmentIsTimedFromItsCheckpoint) {
  const SegmentFolder folder(folder_, plan_.segments[0].id);
  make_folder(folder.checkpoints());
  replace_file(folder.checkpoint(80), "x");
  ProgressDisplay display(plan_, folder_, 1, out_);
  display.started(0, 1000);
  display.ended(0, done(), 1010);
  EXPECT_THAT(out_.str(), HasSubstr("start        adamw seed=1, from step 80"));
  EXPECT_THAT(out_.str(), HasSubstr("(2.0 steps/s)"));
}

TEST_F(ProgressDisplayTest, AFailureSaysWhyAndWhereTheLogIs) {
  ProgressDisplay display(plan_, folder_, 1, out_);
  display.started(3, 1000);
  Outcome failed;
  failed.step = 7;
  failed.reason = "store/shard_0.safetensors: broken\n";
  display.ended(3, failed, 1002);
  EXPECT_THAT(
      out_.str(),
      HasSubstr(
          "failed       muon\\x1b seed=2: step 7: store/shard_0.safetensors: broken\\x0a, 2 s"));
  EXPECT_THAT(out_.str(), HasSubstr("log.txt"));
}

}  // namespace
}  // namespace draftlab

#include "runner/status.h"

#include <gmock/gmock.h>

#include "base/file.h"
#include "record/metrics.h"
#include "record/outcome.h"
#include "record/progress.h"
#include "runner/worker_lock.h"
#include "testing/example_sweep.h"

namespace draftlab {
namespace {

using ::testing::HasSubstr;
using ::testing::SizeIs;

class StatusTest : public ::testing::Test {
 protected:
  StatusTest() : folder_(scratch_.path()) { plan_ = example_plan({{"/seeds", "[1, 2, 3]"}}); }

  SegmentFolder segment(size_t i) const { return SegmentFolder(folder_, plan_.segments[i].id); }
  void begin(size_t i) {
    make_folder(segment(i).root());
    write_task(segment(i).task(), {plan_.segments[i].id, plan_.segments[i].config, "/store", 10});
  }
  void measure(size_t i) {
    MetricsLog log(segment(i).metrics(), 0);
    StepRow step;
    step.step = 50;
    step.model_seconds = 2;
    step.optimizer_seconds = 0.5;
    EvaluationRow row;
    row.step = 50;
    row.split = "tuning";
    row.loss = 9;
    log.add(step);
    log.add(row);
    row.split = "held_out";
    row.loss = 3.25;
    row.acceptance_length = 1.5;
    log.add(row);
    log.flush();
  }
  RunStatus status(size_t i) const { return read_status(folder_, plan_).runs[i]; }

  ScratchFolder scratch_;
  RunFolder folder_;
  PlanRecord plan_;
};

TEST_F(StatusTest, BeforeAnythingRanAllWait) {
  for (const RunStatus& run : read_status(folder_, plan_).runs) EXPECT_EQ(run.state, "waiting");
}

TEST_F(StatusTest, ARunIsRunningOnlyWhileAWorkerLives) {
  begin(0);
  measure(0);
  write_progress(segment(0).progress(), {57, 100, 3});
  {
    const WorkerLock worker(segment(0).lock());
    EXPECT_EQ(status(0).state, "running");
    EXPECT_EQ(status(0).step, 57);
  }
  EXPECT_EQ(status(0).state, "interrupted");
  EXPECT_EQ(status(0).step, 50);
}

TEST_F(StatusTest, ShowsTheLastHeldOutEvaluationAndTheSecondsOfTraining) {
  begin(0);
  measure(0);
  Outcome outcome;
  outcome.kind = OutcomeKind::kDone;
  outcome.step = 100;
  write_outcome(segment(0).outcome(), outcome);
  const RunStatus run = status(0);
  EXPECT_EQ(run.state, "done");
  EXPECT_EQ(run.step, 100);
  EXPECT_EQ(run.val_loss, 3.25);
  EXPECT_EQ(run.acceptance_length, 1.5);
  EXPECT_EQ(run.train_seconds, 2.5);
}

TEST_F(StatusTest, AFileThatCannotBeReadFailsItsRunAlone) {
  begin(0);
  begin(1);
  measure(1);
  replace_file(segment(0).metrics(), "{\"row\": \n");
  EXPECT_EQ(status(0).state, "failed");
  EXPECT_THAT(status(0).reason, HasSubstr("metrics.jsonl"));
  EXPECT_EQ(status(1).state, "interrupted");
}

TEST_F(StatusTest, TheTableEndsWithACountOfStates) {
  begin(0);
  measure(0);
  EXPECT_EQ(text_of(read_status(folder_, plan_).runs),
            "run           state          step  val_loss  acceptance_length  seconds\n"
            "adamw seed=1  interrupted  50/100    3.2500              1.500      2.5\n"
            "adamw seed=2  waiting       0/100         -                  -      0.0\n"
            "adamw seed=3  waiting       0/100         -                  -      0.0\n"
            "3 runs: 1 interrupted, 2 waiting\n");
}

TEST_F(StatusTest, ARunningRunShowsItsPaceItsLossAndTheTimeThatIsLeft) {
  begin(0);
  measure(0);
  write_progress(segment(0).progress(), {60, 100, 4});
  EXPECT_FALSE(read_status(folder_, plan_).seconds_left) << "nobody works, nothing is measured";
  const WorkerLock worker(segment(0).lock());
  EXPECT_EQ(status(0).steps_per_second, 4);
  EXPECT_EQ(read_status(folder_, plan_).seconds_left, (40 + 100 + 100) / 4.)
      << "three runs on one worker";
  const std::string table = text_of(read_status(folder_, plan_).runs);
  EXPECT_THAT(table, HasSubstr("train_loss  steps/s"));
  const JsonArray list = to_json(read_status(folder_, plan_).runs);
  EXPECT_EQ(list[0].at("steps_per_second"), Json(4.));
  EXPECT_TRUE(list[1].at("steps_per_second").is_null());
  EXPECT_TRUE(list[1].at("val_loss").is_null());
}

TEST_F(StatusTest, TheBestArmSoFarIsThatOfFinishedRunsAlone) {
  EXPECT_EQ(best_so_far(read_status(folder_, plan_).runs, plan_), "");
  for (size_t i = 0; i < 2; ++i) {
    begin(i);
    measure(i);
    Outcome outcome;
    outcome.kind = i == 0 ? OutcomeKind::kDone : OutcomeKind::kDiverged;
    outcome.step = 100;
    write_outcome(segment(i).outcome(), outcome);
  }
  EXPECT_EQ(best_so_far(read_status(folder_, plan_).runs, plan_),
            "adamw, acceptance_length 1.500 over 1 of 3 runs");
}

}  // namespace
}  // namespace draftlab

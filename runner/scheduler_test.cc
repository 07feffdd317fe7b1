#include "runner/scheduler.h"

#include <gmock/gmock.h>

#include <sstream>

#include "base/file.h"
#include "record/events.h"
#include "testing/example_sweep.h"
#include "testing/fake_launcher.h"

namespace draftlab {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;
using ::testing::SizeIs;

// A clock that ticks one second each time it is read, and a folder, and workers that do as told.
class SchedulerTest : public ::testing::Test {
 protected:
  explicit SchedulerTest() : folder_(scratch_.path()) {}

  // Four independent runs, or those of `changes`.
  void plan(const std::vector<std::pair<std::string, std::string>>& changes = {
                {"/seeds", "[1, 2, 3, 4]"}}) {
    plan_ = example_plan(changes);
  }
  const std::string& id(size_t i) const { return plan_.segments[i].id; }
  SegmentFolder segment(size_t i) const { return SegmentFolder(folder_, id(i)); }

  ScheduleResult run(int jobs = 1) {
    ProgressDisplay display(plan_, folder_, jobs, out_);
    SchedulerOptions options;
    options.jobs = jobs;
    options.interrupts = [&] {
      if (interrupt_after_ < 0 || reads_ <= interrupt_after_) return 0;
      return again_after_ >= 0 && reads_ > again_after_ ? 2 : 1;
    };
    options.now = [&] { return 1000.0 + ++reads_; };
    return Scheduler(folder_, plan_, launcher_, display, options).run();
  }
  void every_worker(FakeLauncher::Script script) {
    for (const auto& segment : plan_.segments) launcher_.scripts[segment.id] = script;
  }

  ScratchFolder scratch_;
  RunFolder folder_;
  PlanRecord plan_;
  FakeLauncher launcher_;
  std::ostringstream out_;
  int reads_ = 0, interrupt_after_ = -1, again_after_ = -1;
};

TEST_F(SchedulerTest, RunsEverySegmentOnceInThePlansOrder) {
  plan();
  const ScheduleResult result = run();
  EXPECT_THAT(launcher_.started, ElementsAre(id(0), id(1), id(2), id(3)));
  EXPECT_EQ(launcher_.most_at_once, 1u);
  EXPECT_TRUE(result.all_finished(plan_));
  EXPECT_FALSE(result.interrupted);
  EXPECT_EQ(read_task(segment(2).task()).config.seeds.weights, 3);
}

TEST_F(SchedulerTest, KeepsAsManyWorkersBusyAsJobs) {
  plan();
  run(3);
  EXPECT_EQ(launcher_.most_at_once, 3u);
  EXPECT_THAT(launcher_.started, SizeIs(4));
}

TEST_F(SchedulerTest, AFailedRunDoesNotStopTheOthers) {
  plan();
  launcher_.scripts[id(1)] = [](const auto& segment, const auto&) {
    return WorkerExit{segment.id, "was killed by signal 9 (Killed)", "step 17"};
  };
  const ScheduleResult result = run();
  EXPECT_THAT(launcher_.started, SizeIs(4));
  EXPECT_FALSE(result.all_finished(plan_));
  const Outcome failed = *read_outcome(segment(1).outcome());
  EXPECT_EQ(failed.kind, OutcomeKind::kFailed);
  EXPECT_EQ(failed.reason, "the worker was killed by signal 9 (Killed): step 17");
  EXPECT_EQ(read_outcome(segment(3).outcome())->kind, OutcomeKind::kDone);
  EXPECT_THAT(out_.str(), HasSubstr("failed       adamw seed=2"));
  EXPECT_THAT(out_.str(), HasSubstr(segment(1).log().string()));
}

TEST_F(SchedulerTest, AWorkerThatCannotBeStartedIsAFailedRun) {
  plan();
  launcher_.refused.insert(id(0));
  const ScheduleResult result = run();
  EXPECT_THAT(launcher_.started, SizeIs(3));
  EXPECT_EQ(result.outcomes.at(id(0)).reason, "no such worker");
  EXPECT_EQ(read_outcome(segment(0).outcome())->kind, OutcomeKind::kFailed);
}

TEST_F(SchedulerTest, AQuietEndWithoutAnOutcomeIsAFailure) {
  plan({});
  every_worker([](const auto& segment, const auto&) { return WorkerExit{segment.id, "", ""}; });
  EXPECT_FALSE(run().all_finished(plan_));
  EXPECT_EQ(read_outcome(segment(0).outcome())->reason, "the worker ended without an outcome");
}

TEST_F(SchedulerTest, DivergenceIsAResult) {
  plan();
  every_worker([](const auto& segment, const auto& folder) {
    return FakeLauncher::end_as(OutcomeKind::kDiverged, segment, folder);
  });
  EXPECT_TRUE(run().all_finished(plan_));
}

TEST_F(SchedulerTest, ResultsFromBeforeAreKeptAndTheRestRunsAgain) {
  plan();
  make_folder(segment(0).root());
  make_folder(segment(1).root());
  make_folder(segment(2).root());
  FakeLauncher::end_as(OutcomeKind::kDone, plan_.segments[0], segment(0));
  FakeLauncher::end_as(OutcomeKind::kDiverged, plan_.segments[1], segment(1));
  FakeLauncher::end_as(OutcomeKind::kFailed, plan_.segments[2], segment(2));
  const ScheduleResult result = run();
  EXPECT_THAT(launcher_.started, ElementsAre(id(2), id(3)));
  EXPECT_TRUE(result.all_finished(plan_));
  EXPECT_THAT(result.outcomes, SizeIs(4));
}

TEST_F(SchedulerTest, AnOldFailureIsNotTakenForTheNewOutcome) {
  plan({});
  make_folder(segment(0).root());
  FakeLauncher::end_as(OutcomeKind::kFailed, plan_.segments[0], segment(0));
  every_worker([](const auto& segment, const auto&) { return WorkerExit{segment.id, "", "new"}; });
  run();
  EXPECT_EQ(read_outcome(segment(0).outcome())->reason, "the worker ended without an outcome: new");
}

TEST_F(SchedulerTest, ABrokenOutcomeFileRunsAgain) {
  plan({});
  make_folder(segment(0).root());
  replace_file(segment(0).outcome(), "{\"outcome\": \"don");
  EXPECT_TRUE(run().all_finished(plan_));
  EXPECT_THAT(launcher_.started, SizeIs(1));
}

TEST_F(SchedulerTest, AnInterruptStopsWorkersAndStartsNoMore) {
  plan();
  interrupt_after_ = 0;
  launcher_.polls_left = 3;
  const ScheduleResult result = run(2);
  EXPECT_TRUE(result.interrupted);
  EXPECT_TRUE(launcher_.asked);
  EXPECT_FALSE(launcher_.killed);
  EXPECT_EQ(launcher_.running(), 0u);
  EXPECT_THAT(launcher_.started, SizeIs(2));
  EXPECT_FALSE(result.all_finished(plan_));
  for (size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(read_outcome(segment(i).outcome())->kind, OutcomeKind::kInterrupted);
  }
}

TEST_F(SchedulerTest, AWorkerThatIgnoresTheRequestIsKilledAfterTheGracePeriod) {
  plan();
  interrupt_after_ = 0;
  launcher_.polls_left = 3;
  launcher_.ignores_stop = true;
  EXPECT_TRUE(run().interrupted);
  EXPECT_TRUE(launcher_.killed);
  EXPECT_GT(reads_, 60);  // the clock's grace period
  EXPECT_EQ(read_outcome(segment(0).outcome())->kind, OutcomeKind::kInterrupted);
}

TEST_F(SchedulerTest, ASecondInterruptKillsAtOnce) {
  plan();
  interrupt_after_ = 0;
  again_after_ = 10;
  launcher_.polls_left = 3;
  launcher_.ignores_stop = true;
  EXPECT_TRUE(run().interrupted);
  EXPECT_TRUE(launcher_.killed);
  EXPECT_LT(reads_, 60);
}

TEST_F(SchedulerTest, ChildrenOfAFailedSegmentAreNamedAndDoNotRun) {
  plan({});
  SegmentConfig first = plan_.segments[0].config, second = first;
  first.to_step = 50;
  SegmentGraph graph;
  plan_.runs[0].segments = graph.add_path({first, second});
  plan_.segments = graph.take();
  launcher_.scripts[id(0)] = [](const auto& segment, const auto& folder) {
    return FakeLauncher::end_as(OutcomeKind::kFailed, segment, folder);
  };
  const ScheduleResult result = run();
  EXPECT_THAT(launcher_.started, ElementsAre(id(0)));
  EXPECT_THAT(result.blocked, ElementsAre(Pair(id(1), id(0))));
  EXPECT_FALSE(result.all_finished(plan_));
  EXPECT_THAT(out_.str(),
              HasSubstr("not run      adamw seed=1 to step 100: it starts from segment " + id(0)));
}

TEST_F(SchedulerTest, ChildrenStartWhenTheirParentIsDone) {
  plan({});
  SegmentConfig first = plan_.segments[0].config, second = first, other = first;
  first.to_step = 50;
  other.training.clip = 0.5;
  SegmentGraph graph;
  graph.add_path({first, second});
  graph.add_path({first, other});
  plan_.segments = graph.take();
  EXPECT_TRUE(run(4).all_finished(plan_));
  EXPECT_THAT(launcher_.started, ElementsAre(id(0), id(1), id(2)));
  EXPECT_EQ(launcher_.most_at_once, 2u);
}

TEST_F(SchedulerTest, EventsTellWhatRanWhen) {
  plan();
  run(2);
  const auto events = read_events(folder_.events());
  ASSERT_THAT(events, SizeIs(4));
  EXPECT_LT(events[1].start, events[0].end) << "two ran beside each other";
  for (const WorkerEvent& event : events) {
    EXPECT_GT(event.end, event.start);
    EXPECT_EQ(event.outcome, "done");
  }
}

}  // namespace
}  // namespace draftlab

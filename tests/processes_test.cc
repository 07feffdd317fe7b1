// Signals, kills and locks: what happens to processes must not change a number.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <thread>

#include "base/file.h"
#include "record/lives.h"
#include "record/outcome.h"
#include "runner/worker_lock.h"
#include "tests/smoke.h"

namespace draftlab {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::SizeIs;

class ProcessesTest : public SmokeTest {};

TEST_F(ProcessesTest, AKilledWorkerIsAFailedRunThatResumesToTheSameBits) {
  const std::string sweep = write_long_sweep("long.json", 2);
  const std::string expected = undisturbed(sweep);
  Program run({"run", sweep, "--out", path("out"), "--store", store(), "--jobs", "1"});
  wait_for_checkpoint(path("out"), 50);
  ASSERT_THAT(run.children(), SizeIs(1));
  ::kill(run.children()[0], SIGKILL);
  EXPECT_EQ(run.wait(), 1);
  EXPECT_THAT(run.output(),
              AllOf(HasSubstr("failed       AdamW seed=1"), HasSubstr("killed by signal 9"),
                    HasSubstr("done         AdamW seed=2")));
  EXPECT_THAT(draftlab({"status", path("out")}).output, HasSubstr("2 runs: 1 done, 1 failed"));
  EXPECT_TRUE(fs::exists(RunFolder(path("out")).report_page()));
  expect_resumed_as(expected, path("out"));
}

TEST_F(ProcessesTest, AStoppedWorkerGoesOnToTheSameBitsAndItsPauseIsTold) {
  const std::string sweep = write_long_sweep("long.json", 1);
  const std::string expected = undisturbed(sweep);
  Program run({"run", sweep, "--out", path("out"), "--store", store(), "--jobs", "1"});
  wait_for_checkpoint(path("out"), 50);
  ASSERT_THAT(run.children(), SizeIs(1));
  const pid_t worker = run.children()[0];
  // A stop between two steps is on no clock: one of several is within a step.
  for (int i = 0; i < 3; ++i) {
    ::kill(worker, SIGSTOP);
    std::this_thread::sleep_for(std::chrono::milliseconds(2500));
    ::kill(worker, SIGCONT);
    std::this_thread::sleep_for(std::chrono::milliseconds(30));
  }
  EXPECT_EQ(run.wait(), 0) << run.output();
  EXPECT_EQ(numbers_of(path("out")), expected);
  EXPECT_THAT(draftlab({"check", path("out")}).output,
              AllOf(HasSubstr("F19"), HasSubstr("the process was stopped")));
  EXPECT_THAT(draftlab({"check", path("undisturbed")}).output,
              Not(HasSubstr("the process was stopped")));
}

TEST_F(ProcessesTest, AKilledRunnerLeavesAFolderThatResumesToTheSameBits) {
  const std::string sweep = write_long_sweep("long.json", 2);
  const std::string expected = undisturbed(sweep);
  for (const int64_t step : {10, 200}) {
    const std::string out = path("out" + std::to_string(step));
    Program run({"run", sweep, "--out", out, "--store", store(), "--jobs", "2"});
    wait_for_checkpoint(out, step);
    run.send(SIGKILL);
    EXPECT_EQ(run.wait(), -SIGKILL);
    expect_resumed_as(expected, out);
    EXPECT_THAT(draftlab({"status", out}).output, HasSubstr("2 runs: 2 done"));
  }
}

TEST_F(ProcessesTest, RunnerAndWorkerKilledTogetherAreShownAsInterruptedAndResumeToTheSameBits) {
  const std::string sweep = write_long_sweep("long.json", 1);
  const std::string expected = undisturbed(sweep);
  Program run({"run", sweep, "--out", path("out"), "--store", store(), "--jobs", "1"});
  wait_for_checkpoint(path("out"), 100);
  EXPECT_THAT(draftlab({"status", path("out")}).output, HasSubstr("running"));
  const auto workers = run.children();
  ASSERT_THAT(workers, SizeIs(1));
  ::kill(workers[0], SIGSTOP);  // so that it cannot write a last checkpoint
  run.send(SIGKILL);
  EXPECT_EQ(run.wait(), -SIGKILL);
  ::kill(workers[0], SIGKILL);
  ASSERT_TRUE(eventually([&] { return !worker_lives(segment_of(path("out"), 0).lock()); }));
  EXPECT_THAT(draftlab({"status", path("out")}).output, HasSubstr("1 run: 1 interrupted"));
  expect_resumed_as(expected, path("out"));
}

TEST_F(ProcessesTest, AWorkerThatOutlivesItsRunnerIsStoppedByTheNextOne) {
  const std::string sweep = write_long_sweep("long.json", 1);
  const std::string expected = undisturbed(sweep);
  Program run({"run", sweep, "--out", path("out"), "--store", store(), "--jobs", "1"});
  wait_for_checkpoint(path("out"), 50);
  run.send(SIGKILL);
  run.wait();
  const auto lock = segment_of(path("out"), 0).lock();
  ASSERT_TRUE(eventually([&] { return !worker_lives(lock); }));
  // In place of a worker that was deaf to the signal at its runner's death.
  const pid_t leftover = ::fork();
  if (leftover == 0) {
    const WorkerLock held(lock);
    ::pause();
    ::_exit(0);
  }
  ASSERT_TRUE(eventually([&] { return worker_lives(lock); }));
  Program resume({"resume", path("out")});
  ASSERT_TRUE(eventually([&] { return ::waitpid(leftover, nullptr, WNOHANG) == leftover; }));
  EXPECT_EQ(resume.wait(), 0) << resume.output();
  EXPECT_THAT(resume.output(), HasSubstr("stopped process " + std::to_string(leftover)));
  EXPECT_EQ(numbers_of(path("out")), expected);
}

TEST_F(ProcessesTest, CtrlCLeavesAFolderThatResumesToTheSameBits) {
  const std::string sweep = write_long_sweep("long.json", 3);
  const std::string expected = undisturbed(sweep);
  Program run({"run", sweep, "--out", path("out"), "--store", store(), "--jobs", "2"});
  wait_for_checkpoint(path("out"), 20);
  const auto workers = run.children();
  run.send(SIGINT);
  EXPECT_EQ(run.wait(), 1);
  EXPECT_THAT(run.output(), AllOf(HasSubstr("stopping: "),
                                  HasSubstr("go on with: draftlab resume " + path("out"))));
  for (const pid_t worker : workers) EXPECT_NE(::kill(worker, 0), 0) << "a worker lives";
  EXPECT_EQ(read_outcome(segment_of(path("out"), 0).outcome())->kind, OutcomeKind::kInterrupted);
  EXPECT_FALSE(fs::exists(segment_of(path("out"), 2).outcome())) << "it must not start any more";
  expect_resumed_as(expected, path("out"));
}

TEST_F(ProcessesTest, ASecondRunnerOnAFolderStopsAndNamesTheFirst) {
  const std::string sweep = write_long_sweep("long.json", 2);
  Program first({"run", sweep, "--out", path("out"), "--store", store(), "--jobs", "1"});
  wait_for_checkpoint(path("out"), 10);
  for (const std::vector<std::string>& words : std::vector<std::vector<std::string>>{
           {"run", sweep, "--out", path("out"), "--store", store()}, {"resume", path("out")}}) {
    const Finished second = draftlab(words);
    EXPECT_EQ(second.status, 1);
    EXPECT_THAT(second.output, HasSubstr("pid " + std::to_string(first.pid())));
  }
  EXPECT_TRUE(first.running());
  first.send(SIGINT);
  first.wait();
}

TEST_F(ProcessesTest, EverySignalThatAsksToStopLeavesACheckpointAndResumesToTheSameBits) {
  const std::string sweep = write_long_sweep("long.json", 1);
  const std::string expected = undisturbed(sweep);
  const std::pair<int, bool> kSignals[] = {// and whether it goes to the worker alone
                                           {SIGTERM, true},
                                           {SIGHUP, false},
                                           {SIGUSR1, true},
                                           {SIGUSR2, false},
                                           {SIGXCPU, true}};
  for (const auto& [number, to_worker] : kSignals) {
    const std::string out = path("out" + std::to_string(number));
    Program run({"run", sweep, "--out", out, "--store", store(), "--jobs", "1"});
    wait_for_checkpoint(out, 20);
    ASSERT_THAT(run.children(), SizeIs(1));
    ::kill(to_worker ? run.children()[0] : run.pid(), number);
    EXPECT_EQ(run.wait(), 1) << number;
    EXPECT_EQ(read_outcome(segment_of(out, 0).outcome())->kind, OutcomeKind::kInterrupted)
        << number;
    expect_resumed_as(expected, out);
  }
}

TEST_F(ProcessesTest, ASignalWhileTheWorkerLoadsIsNotLost) {
  const std::string sweep = write_long_sweep("long.json", 1);
  const std::string expected = undisturbed(sweep);
  Program run({"run", sweep, "--out", path("out"), "--store", store(), "--jobs", "1"});
  ASSERT_TRUE(eventually([&] { return run.children().size() == 1; }));
  ::kill(run.children()[0], SIGTERM);
  EXPECT_EQ(run.wait(), 1);
  EXPECT_EQ(read_outcome(segment_of(path("out"), 0).outcome())->kind, OutcomeKind::kInterrupted);
  expect_resumed_as(expected, path("out"));
}

// One trial of one step: its worker has nothing left to interrupt.
TEST_F(ProcessesTest, CtrlCInTheLastStepOfAPhaseBeginsNoOther) {
  const std::string sweep = write_sweep("tuned.json", [](JsonObject& sweep) {
    sweep["training"].as_object()["steps"] = 1;
    sweep["evaluation"] = JsonObject{{"every", 1}};
    sweep["tuning"] = JsonObject{{"seeds", JsonArray{101}}, {"extend", 0}};
    sweep["seeds"] = JsonArray{1};
    sweep["arms"] = JsonArray{JsonObject{
        {"name", "AdamW"}, {"optimizer", JsonObject{{"kind", "adamw"}, {"learning_rate", 3e-3}}}}};
  });
  Program run({"run", sweep, "--out", path("out"), "--store", store(), "--jobs", "1"});
  ASSERT_TRUE(eventually([&] {
    return fs::exists(RunFolder(path("out")).plan()) &&
           fs::exists(segment_of(path("out"), 0).provenance());
  }));
  const std::vector<pid_t> workers = run.children();
  ASSERT_THAT(workers, SizeIs(1));
  ::kill(workers[0], SIGSTOP);
  run.send(SIGINT);
  ASSERT_TRUE(eventually([&] { return run.output().find("stopping: ") != std::string::npos; }));
  ::kill(workers[0], SIGCONT);
  EXPECT_EQ(run.wait(), 1);
  EXPECT_THAT(run.output(), HasSubstr("interrupted; go on with: draftlab resume"));
  EXPECT_EQ(plan_of(path("out")).phases, 1);
  const Finished resume = draftlab({"resume", path("out")});
  EXPECT_EQ(resume.status, 0) << resume.output;
  EXPECT_EQ(plan_of(path("out")).phases, 2);
}

TEST_F(ProcessesTest, AWorkerByHandHoldsTheLockOfItsSegment) {
  const std::string sweep = write_long_sweep("long.json", 1);
  Program run({"run", sweep, "--out", path("out"), "--store", store(), "--jobs", "1"});
  wait_for_checkpoint(path("out"), 20);
  run.send(SIGINT);
  run.wait();
  const SegmentFolder segment = segment_of(path("out"), 0);
  const WorkerLock held(segment.lock());
  const fs::path worker = fs::path(DRAFTLAB_PROGRAM).parent_path() / "draftlab-worker";
  FILE* pipe =
      ::popen((worker.string() + " train " + segment.task().string() + " 2>&1").c_str(), "r");
  char text[1000] = "";
  ASSERT_NE(::fgets(text, sizeof text, pipe), nullptr);
  EXPECT_NE(::pclose(pipe), 0);
  EXPECT_THAT(text, HasSubstr("a worker still trains this segment"));
}

TEST_F(ProcessesTest, ALockThatIsALinkIsRefusedAndWhatItPointsToStays) {
  replace_file(path("mine"), "mine");
  make_folder(path("out"));
  fs::create_symlink(path("mine"), RunFolder(path("out")).lock());
  const Finished run =
      draftlab({"run", write_long_sweep("long.json", 1), "--out", path("out"), "--store", store()});
  EXPECT_EQ(run.status, 1);
  EXPECT_THAT(run.output, HasSubstr("is a link"));
  EXPECT_EQ(read_file(path("mine")), "mine");
}

TEST_F(ProcessesTest, ARunnerOnAnotherMachineKeepsTheFolderWhileItShowsSignsOfLife) {
  const std::string sweep = write_sweep("one.json", [](JsonObject& sweep) {
    sweep["seeds"] = JsonArray{1};
    sweep["arms"].as_array().resize(1);
  });
  const fs::path lock = RunFolder(path("out")).lock();
  make_folder(path("out"));
  replace_file(lock, "pid 7 on another.machine since 2026-01-02T03:04:05Z");
  const std::vector<std::string> words = {"run", sweep, "--out", path("out"), "--store", store()};
  const Finished refused = draftlab(words);
  EXPECT_EQ(refused.status, 1);
  EXPECT_THAT(refused.output, AllOf(HasSubstr("pid 7 on another.machine"),
                                    HasSubstr("if it has died, try again in")));
  EXPECT_FALSE(fs::exists(RunFolder(path("out")).plan()));
  fs::last_write_time(lock, fs::file_time_type::clock::now() - std::chrono::minutes(2));
  EXPECT_EQ(draftlab(words).status, 0);
  EXPECT_EQ(read_file(lock), "");
}

TEST_F(ProcessesTest, AnInterruptBehindTheLastRunKeepsTheTimingFromStartingAndIsTold) {
  const std::string sweep = write_sweep("one.json", [](JsonObject& sweep) {
    sweep["seeds"] = JsonArray{1, 2};
    sweep["arms"].as_array().resize(1);
  });
  const std::string out = path("out");
  constexpr int kRuns = 4;  // two rates, two seeds
  // A worker that interrupts the runner when all runs have their outcome.
  make_folder(path("programs"));
  fs::copy_file(DRAFTLAB_PROGRAM, path("programs/draftlab"));
  const std::string worker = fs::path(DRAFTLAB_PROGRAM).parent_path() / "draftlab-worker";
  replace_file(path("programs/draftlab-worker"),
               "#!/bin/sh\ntrap '' INT TERM\nDRAFTLAB_RUNNER=$$ " + worker +
                   " \"$@\"; status=$?\n" + "[ $1 = train ] && [ $(ls " + out +
                   "/segments/*/outcome.json | wc -l) = " + std::to_string(kRuns) +
                   " ] && kill -INT $PPID && sleep 0.2\nexit $status\n");
  fs::permissions(path("programs/draftlab-worker"), fs::perms::owner_all);
  ::signal(SIGINT, SIG_DFL);  // which the background of a shell ignores
  const int status = std::system((path("programs/draftlab") + " run " + sweep + " --store " +
                                  store() + " --out " + out + " --jobs 2 >" + path("said"))
                                     .c_str());
  EXPECT_EQ(WEXITSTATUS(status), 1);
  const std::string said = read_file(path("said"));
  EXPECT_THAT(said, HasSubstr("what is not timed or decoded yet will be by: draftlab resume"));
  EXPECT_THAT(said, Not(HasSubstr("timing ")));
  const Finished resumed = draftlab({"resume", out});
  EXPECT_EQ(resumed.status, 0);
  EXPECT_THAT(resumed.output, HasSubstr("timing "));
}

TEST_F(ProcessesTest, AClosedOutputEndsNoSweepAndWritesIntoNoFile) {
  const std::string sweep = write_sweep("one.json", [](JsonObject& sweep) {
    sweep["seeds"] = JsonArray{1};
    sweep["arms"].as_array().resize(1);
  });
  const std::string command =
      std::string(DRAFTLAB_PROGRAM) + " run " + sweep + " --store " + store() + " --out ";
  EXPECT_EQ(std::system((command + path("closed") + " >&- 2>&-").c_str()), 0);
  EXPECT_THAT(read_file(RunFolder(path("closed")).lock()), Not(HasSubstr("start")));
  // The reader leaves at once; what cannot be printed any more is told by the status alone.
  EXPECT_NE(std::system((command + path("piped") + " 2>&1 | true").c_str()), -1);
  for (const char* out : {"closed", "piped"})
    EXPECT_THAT(draftlab({"status", path(out)}).output, HasSubstr("2 runs: 2 done")) << out;
}

}  // namespace
}  // namespace draftlab

#include "runner/local_launcher.h"

#include <gmock/gmock.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <fstream>
#include <thread>

#include "base/file.h"
#include "runner/worker_lock.h"
#include "testing/example_sweep.h"

namespace draftlab {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

// Workers that are scripts.
class LocalLauncherTest : public ::testing::Test {
 protected:
  LocalLauncherTest() : folder_(RunFolder(scratch_.path()), "0123456789abcdef") {
    make_folder(folder_.root());
    segment_.id = "0123456789abcdef";
    segment_.config.training.threads = 3;
  }
  std::filesystem::path worker(const std::string& script,
                               const std::string& interpreter = "/bin/sh") {
    const auto file = scratch_.path() / "worker.sh";
    replace_file(file, "#!" + interpreter + "\n" + script + "\n");
    ::chmod(file.c_str(), 0755);
    return file;
  }
  static WorkerExit wait(Launcher& launcher) {
    for (int i = 0; i < 600; ++i) {  // a minute on the slowest machine
      if (auto exit = launcher.wait_any(0.1)) return *exit;
    }
    throw Error("test", "the worker does not end");
  }
  WorkerExit run(const std::string& script) {
    LocalLauncher launcher(worker(script));
    launcher.start(segment_, folder_);
    const WorkerExit exit = wait(launcher);
    EXPECT_EQ(launcher.running(), 0u);
    return exit;
  }
  // Waits until the script has written this file.
  void wait_for(const std::string& name) {
    for (int i = 0; i < 6000 && !std::filesystem::exists(scratch_.path() / name); ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    ASSERT_TRUE(std::filesystem::exists(scratch_.path() / name));
  }
  std::string in_scratch(const std::string& name) const {
    return (scratch_.path() / name).string();
  }

  ScratchFolder scratch_;
  SegmentFolder folder_;
  PlannedSegment segment_;
};

TEST_F(LocalLauncherTest, AWorkerGetsItsTaskItsThreadsAndTheRunnersProcessId) {
  const WorkerExit exit = run("echo \"$1 $2 $OMP_NUM_THREADS $MKL_NUM_THREADS $DRAFTLAB_RUNNER\"");
  EXPECT_EQ(exit.segment, segment_.id);
  EXPECT_EQ(exit.failure, "");
  EXPECT_EQ(exit.last_line,
            "train " + folder_.task().string() + " 3 3 " + std::to_string(::getpid()));
}

TEST_F(LocalLauncherTest, ExitStatus9AndSignal9AreDifferentFailures) {
  EXPECT_EQ(run("exit 9").failure, "ended with exit status 9");
  EXPECT_EQ(run("kill -9 $$").failure, "was killed by signal 9 (Killed)");
}

TEST_F(LocalLauncherTest, TheLogKeepsAllLivesAndTheLastLineIsOfThisOne) {
  EXPECT_EQ(run("echo one; echo two >&2; echo").last_line, "two");
  EXPECT_EQ(run("exit 1").last_line, "");
  EXPECT_EQ(read_file(folder_.log()), "one\ntwo\n\n");
}

TEST_F(LocalLauncherTest, AWorkerInheritsNoneOfOurFiles) {
  int pipe_ends[2];
  ASSERT_EQ(::pipe(pipe_ends), 0);  // without O_CLOEXEC, as a careless library opens it
  EXPECT_EQ(run("for file in /proc/$$/fd/*; do readlink $file; done; true").failure, "");
  EXPECT_THAT(read_file(folder_.log()),
              AllOf(HasSubstr(folder_.lock().string()), Not(HasSubstr("pipe:"))));
  ::close(pipe_ends[0]);
  ::close(pipe_ends[1]);
}

TEST_F(LocalLauncherTest, AMissingProgramIsAnErrorThatNamesIt) {
  LocalLauncher launcher("/nowhere/draftlab-worker");
  EXPECT_THAT(message_of([&] { launcher.start(segment_, folder_); }),
              HasSubstr("/nowhere/draftlab-worker: cannot start: No such file"));
  EXPECT_FALSE(worker_lives(folder_.lock()));
}

TEST_F(LocalLauncherTest, AskingToStopSendsSigtermWhichWaitsUntilTheWorkerIsReadyForIt) {
  // As a worker does: it loads for a while, says what a signal does, then lets signals in. (A shell
  // lets them in at once.)
  const std::string script = "use POSIX; open(my $up, '>', '" + in_scratch("up") +
                             "'); select(undef, undef, undef, 0.01) until -e '" +
                             in_scratch("asked") + R"(';
$SIG{TERM} = sub { print "stopped\n"; exit 0 };
sigprocmask(SIG_SETMASK, POSIX::SigSet->new());
sleep 1 while 1;)";
  LocalLauncher launcher(worker(script, "/usr/bin/perl"));
  launcher.start(segment_, folder_);
  wait_for("up");
  EXPECT_FALSE(launcher.wait_any(0));
  launcher.ask_to_stop();
  replace_file(in_scratch("asked"), "");
  EXPECT_EQ(wait(launcher).last_line, "stopped");
}

TEST_F(LocalLauncherTest, NothingAWorkerStartedSurvivesIt) {
  run("(trap '' TERM; sleep 1000) & echo $! > " + in_scratch("pid") + "; exit 0");
  const pid_t grandchild = std::stoi(read_file(in_scratch("pid")));
  for (int i = 0; i < 1000 && worker_lives(folder_.lock()); ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  EXPECT_FALSE(worker_lives(folder_.lock()));
  // Gone, or a zombie that its new parent has yet to collect.
  std::ifstream stat("/proc/" + std::to_string(grandchild) + "/stat");
  std::string line;
  if (std::getline(stat, line)) {
    EXPECT_THAT(line, HasSubstr(") Z "));
  }
}

TEST_F(LocalLauncherTest, TheLockShowsWhoLivesAndKeepsASecondWorkerOut) {
  EXPECT_FALSE(worker_lives(folder_.lock()));
  LocalLauncher launcher(worker(": >" + in_scratch("up") + "; exec sleep 1000"));
  launcher.start(segment_, folder_);
  wait_for("up");
  EXPECT_TRUE(worker_lives(folder_.lock()));
  EXPECT_THAT(message_of([&] { LocalLauncher("/bin/true").start(segment_, folder_); }),
              HasSubstr("a worker still trains this segment"));
  launcher.kill();
  wait(launcher);
  EXPECT_FALSE(worker_lives(folder_.lock()));
}

// As after kill -9 of the runner: a process that nobody waits for holds the lock.
TEST_F(LocalLauncherTest, ALeftoverIsFoundAndStopped) {
  for (const std::string trap : {"", "trap '' TERM; "}) {
    std::filesystem::remove(scratch_.path() / "up");
    const auto script = worker(trap + ": >" + in_scratch("up") + "; while :; do sleep 0.05; done");
    const pid_t runner = ::fork();
    if (runner == 0) {
      // Leaves without running destructors, as a killed runner does.
      auto* launcher = new LocalLauncher(script);
      launcher->start(segment_, folder_);
      ::_exit(0);
    }
    ::waitpid(runner, nullptr, 0);
    wait_for("up");
    EXPECT_TRUE(worker_lives(folder_.lock()));
    EXPECT_THAT(stop_leftover(folder_.lock(), 0.5), Not(IsEmpty()));
    EXPECT_FALSE(worker_lives(folder_.lock()));
  }
  EXPECT_THAT(stop_leftover(folder_.lock(), 0.5), IsEmpty());
}

TEST_F(LocalLauncherTest, WorkersOfALauncherEndWithIt) {
  {
    LocalLauncher launcher(worker(": >" + in_scratch("up") + "; exec sleep 1000"));
    launcher.start(segment_, folder_);
    wait_for("up");
  }
  EXPECT_FALSE(worker_lives(folder_.lock()));
}

TEST_F(LocalLauncherTest, ManyWorkersAreToldApart) {
  LocalLauncher launcher(worker("exit $(basename $(dirname $2))"));
  std::vector<PlannedSegment> segments(5, segment_);
  for (int i = 0; i < 5; ++i) {
    segments[i].id = std::to_string(i);
    const SegmentFolder folder(RunFolder(scratch_.path()), segments[i].id);
    make_folder(folder.root());
    launcher.start(segments[i], folder);
  }
  EXPECT_EQ(launcher.running(), 5u);
  for (int i = 0; i < 5; ++i) {
    const WorkerExit exit = wait(launcher);
    EXPECT_EQ(exit.failure, exit.segment == "0" ? "" : "ended with exit status " + exit.segment);
  }
}

}  // namespace
}  // namespace draftlab

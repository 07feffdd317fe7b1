#include "base/lease.h"

#include <gmock/gmock.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <functional>
#include <iterator>
#include <string>
#include <thread>

#include "base/error.h"
#include "base/file.h"

namespace draftlab {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::ThrowsMessage;
using namespace std::chrono_literals;

constexpr char kElsewhere[] = "pid 7 on another.machine since 2026-01-02T03:04:05Z";

bool eventually(const std::function<bool()>& holds) {
  for (int i = 0; i < 3000 && !holds(); ++i) std::this_thread::sleep_for(10ms);
  return holds();
}

class LeaseTest : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::temp_directory_path() / ("draftlab_lease_test_" + std::to_string(::getpid()));
    make_folder(folder_);
    file_ = folder_ / "lock";
  }
  void TearDown() override { fs::remove_all(folder_); }
  // An owner on another machine that touched the file so long ago.
  void write_owner_elsewhere(std::chrono::seconds silent) {
    replace_file(file_, kElsewhere);
    fs::last_write_time(file_, fs::file_time_type::clock::now() - silent);
  }
  fs::path folder_, file_;
};

TEST_F(LeaseTest, AnOwnerOnAnotherMachineHoldsItWhileItShowsSignsOfLife) {
  for (const auto silent : {0s, 30s, 50s}) {
    write_owner_elsewhere(silent);
    const auto touched = fs::last_write_time(file_);
    EXPECT_THAT([&] { Lease lease(file_); },
                ThrowsMessage<Error>(AllOf(HasSubstr(kElsewhere), HasSubstr("another machine"),
                                           HasSubstr("try again in"))))
        << silent.count();
    EXPECT_EQ(read_file(file_), kElsewhere);
    // Asking is no sign of life.
    EXPECT_EQ(fs::last_write_time(file_), touched);
  }
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_), {}), 1);
}

TEST_F(LeaseTest, ASilentOwnerOnAnotherMachineLosesIt) {
  write_owner_elsewhere(61s);
  const Lease lease(file_);
  EXPECT_THAT(read_file(file_), AllOf(HasSubstr("pid " + std::to_string(::getpid()) + " on "),
                                      HasSubstr(" since 2"), Not(HasSubstr("another.machine"))));
}

TEST_F(LeaseTest, AFutureSignOfLifeIsOne) {
  write_owner_elsewhere(-100s);
  EXPECT_THAT([&] { Lease lease(file_); }, ThrowsMessage<Error>(HasSubstr("is 0 s old")));
}

TEST_F(LeaseTest, ReleasedItNamesNobody) {
  { const Lease lease(file_); }
  EXPECT_EQ(read_file(file_), "");
  const Lease again(file_);
}

TEST_F(LeaseTest, AProcessOfThisMachineHoldsItAsLongAsItLivesAndNoLonger) {
  const pid_t child = ::fork();
  if (child == 0) {
    const Lease lease(file_);
    ::raise(SIGSTOP);
    ::_exit(0);
  }
  int status = 0;
  ::waitpid(child, &status, WUNTRACED);
  // However long it has been silent: the kernel knows that it lives.
  fs::last_write_time(file_, fs::file_time_type::clock::now() - 1000s);
  EXPECT_THAT([&] { Lease lease(file_); },
              ThrowsMessage<Error>(HasSubstr("pid " + std::to_string(child))));
  ::kill(child, SIGKILL);
  ::waitpid(child, &status, 0);
  const Lease lease(file_);
}

TEST_F(LeaseTest, ItsOwnerTouchesItAgainAndAgain) {
  const Lease lease(file_, 0.01);
  for (int i = 0; i < 3; ++i) {
    const auto old = fs::file_time_type::clock::now() - 1000s;
    fs::last_write_time(file_, old);
    EXPECT_TRUE(eventually([&] { return fs::last_write_time(file_) > old + 500s; }));
  }
}

TEST_F(LeaseTest, AnOwnerThatFindsAnotherNameEndsAndLeavesTheFileToIt) {
  const pid_t child = ::fork();
  if (child == 0) {
    const Lease lease(file_, 0.01);
    ::raise(SIGSTOP);
    ::alarm(30);  // should nobody end us
    for (;;) ::pause();
  }
  int status = 0;
  ::waitpid(child, &status, WUNTRACED);
  replace_file(file_, kElsewhere);
  ::kill(child, SIGCONT);
  ::waitpid(child, &status, 0);
  EXPECT_TRUE(WIFSIGNALED(status));
  EXPECT_EQ(WTERMSIG(status), SIGTERM);
  EXPECT_EQ(read_file(file_), kElsewhere);
}

TEST_F(LeaseTest, ReleasingWhatAnotherHasTakenLeavesItsName) {
  {
    const Lease lease(file_);
    replace_file(file_, kElsewhere);
  }
  EXPECT_EQ(read_file(file_), kElsewhere);
}

}  // namespace
}  // namespace draftlab

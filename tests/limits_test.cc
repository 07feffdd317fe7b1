#include <gmock/gmock.h>
#include <sys/wait.h>

#include <cstdlib>

#include "base/file.h"
#include "tests/smoke.h"

namespace draftlab {
namespace {

using ::testing::AllOf;
using ::testing::AnyOf;
using ::testing::HasSubstr;
using ::testing::Not;

// What a machine, a quota or an administrator may not let a program have.
class LimitsTest : public SmokeTest {
 protected:
  // The text in a shell, where $D is draftlab.
  Finished shell(const std::string& text) const {
    const std::string script = path("script.sh"), output = path("output.txt");
    replace_file(script, "D=" DRAFTLAB_PROGRAM "\n" + text);
    const int status = std::system(("sh " + script + " >" + output + " 2>&1").c_str());
    return {WEXITSTATUS(status), read_file(output)};
  }
  // The same with file systems of its own, which needs an administrator.
  Finished with_mounts(const std::string& text) const {
    return shell("unshare -m sh -e <<'END' || exit 1\nD=" DRAFTLAB_PROGRAM "\n" + text + "\nEND\n");
  }
  bool can_mount() const {
    make_folder(path("mounted"));
    return with_mounts("mount -t tmpfs none " + path("mounted")).status == 0;
  }
  std::string sweep() const {
    return write_sweep("limits.json", [](JsonObject& sweep) {
      sweep["seeds"] = JsonArray{1};
      sweep["arms"].as_array().resize(2);
    });
  }
  std::string run_words(const std::string& out) {
    return " run " + sweep() + " --out " + path(out) + " --store " + store();
  }
};

TEST_F(LimitsTest, AFullSmallFileSystemEndsInAnErrorThatNamesItAndTheRunGoesOnWithRoom) {
  if (!can_mount()) GTEST_SKIP() << "needs the right to mount a file system";
  const std::string numbers = undisturbed(sweep());
  make_folder(path("small"));
  // Room enough at the beginning, taken away before the first checkpoint.
  const Finished run = with_mounts("mount -t tmpfs -o size=8m none " + path("small") +
                                   "\n"
                                   "$D plan " +
                                   sweep() + " --out " + path("small/run") + " --store " + store() +
                                   " >/dev/null\n"
                                   "( while ! [ -e " +
                                   path("small/run/plan.json") +
                                   " ]; do :; done\n"
                                   "  dd if=/dev/zero of=" +
                                   path("small/filler") +
                                   " 2>/dev/null ) &\n"
                                   "$D" +
                                   run_words("small/run") +
                                   " && echo ended well || echo ended with $?\n"
                                   "wait; rm " +
                                   path("small/filler") +
                                   "\n"
                                   "$D" +
                                   run_words("small/run") +
                                   "\n"
                                   "cp -a " +
                                   path("small/run") + " " + path("copied"));
  EXPECT_EQ(run.status, 0) << run.output;
  EXPECT_THAT(run.output, AnyOf(HasSubstr("No space left on device"), HasSubstr("free some")));
  EXPECT_THAT(run.output, HasSubstr("ended with 1"));
  EXPECT_EQ(numbers_of(path("copied")), numbers);
}

TEST_F(LimitsTest, AFileSystemOfOneMegabyteIsRefusedBeforeAnythingRuns) {
  if (!can_mount()) GTEST_SKIP() << "needs the right to mount a file system";
  make_folder(path("small"));
  const Finished run =
      with_mounts("mount -t tmpfs -o size=1m none " + path("small") + "\n$D" +
                  run_words("small/run") + " || echo ended with $?\nls " + path("small"));
  EXPECT_THAT(run.output, AllOf(HasSubstr("its volume has 1.05 MB free"), HasSubstr("ended with 1"),
                                Not(HasSubstr("\nrun"))));
}

TEST_F(LimitsTest, AReadOnlyFolderCanBeReadAndNothingElse) {
  if (!can_mount()) GTEST_SKIP() << "needs the right to mount a file system";
  undisturbed(sweep());
  const std::string out = path("undisturbed");
  const Finished run =
      with_mounts("mount --bind " + out + " " + out + "\nmount -o remount,ro,bind " + out +
                  "\n"
                  "$D status " +
                  out + "\n$D report " + out + " --out " + path("elsewhere") +
                  "\n"
                  "$D resume " +
                  out +
                  " || echo resume ended with $?\n"
                  "$D restart " +
                  out +
                  " nothing || echo restart ended with $?\n"
                  "$D" +
                  run_words("undisturbed/inside") + " || echo run ended with $?\n");
  EXPECT_THAT(run.output, HasSubstr("3 runs: 3 done"));
  EXPECT_THAT(run.output, HasSubstr(path("elsewhere") + "/index.html"));
  EXPECT_THAT(run.output, AllOf(HasSubstr("lock: cannot open the lock: Read-only file system"),
                                HasSubstr("resume ended with 1"), HasSubstr("run ended with 1")));
}

TEST_F(LimitsTest, TooFewOpenFilesFailRunsThatASecondCommandFinishes) {
  const std::string numbers = undisturbed(sweep());
  int64_t told = 0;
  // How many are open at the start is not ours to say.
  for (const char* limit : {"4", "5", "6", "7", "8", "9", "10"}) {
    const std::string out = std::string("files") + limit;
    const Finished run = shell("ulimit -n " + std::string(limit) + "\n$D" + run_words(out));
    if (run.output.find("error while loading shared libraries") != std::string::npos) continue;
    EXPECT_THAT(run.status, AnyOf(0, 1)) << run.output;
    if (run.status != 0) {
      EXPECT_THAT(run.output, HasSubstr("Too many open files"));
      ++told;
    }
    EXPECT_THAT(run.output, Not(HasSubstr("needs Linux")));
    const Finished again = shell("$D" + run_words(out));
    EXPECT_EQ(again.status, 0) << again.output;
    EXPECT_EQ(numbers_of(path(out)), numbers);
    if (run.status == 0) break;  // more are enough too
  }
  EXPECT_GT(told, 0);
}

TEST_F(LimitsTest, AFileBeyondTheLimitIsAnErrorThatNamesItAndNoSignal) {
  const std::string numbers = undisturbed(sweep());
  const Finished run = shell("ulimit -f 64\n$D" + run_words("limited"));
  EXPECT_EQ(run.status, 1) << run.output;
  EXPECT_THAT(run.output, HasSubstr("File too large"));
  const Finished again = shell("$D" + run_words("limited"));
  EXPECT_EQ(again.status, 0) << again.output;
  EXPECT_EQ(numbers_of(path("limited")), numbers);
}

TEST_F(LimitsTest, AnOutputThatTakesNothingIsToldByTheStatusAndEndsNoSweep) {
  EXPECT_EQ(shell("$D optimizers >/dev/full").status, 1);
  EXPECT_EQ(shell("$D plan " + sweep() + " --store " + store() + " >/dev/full").status, 1);
  EXPECT_EQ(shell("$D" + run_words("full") + " >/dev/full").status, 1);
  EXPECT_THAT(draftlab({"status", path("full")}).output, HasSubstr("3 runs: 3 done"));
}

// A pipe whose reader sleeps: the writer waits or gives up, but the sweep ends.
TEST_F(LimitsTest, APipeThatNobodyReadsForAWhileLosesNoRun) {
  const Finished run =
      shell("( $D" + run_words("piped") + "; echo $? >" + path("status") + " ) | ( sleep 3; cat )");
  EXPECT_THAT(run.output, HasSubstr("report: "));
  EXPECT_EQ(read_file(path("status")), "0\n");
}

}  // namespace
}  // namespace draftlab

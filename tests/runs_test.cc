// Commands that do something to single runs of a folder.
#include <gmock/gmock.h>

#include <filesystem>

#include "base/file.h"
#include "record/outcome.h"
#include "tests/smoke.h"

namespace draftlab {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

// AdamW; B and C, which share 10 steps with AdamW and go on with Muon and Lion.
class RunsTest : public SmokeTest {
 protected:
  std::string write_forked_sweep() const {
    return write_sweep("forked.json", [](JsonObject& sweep) {
      const JsonObject adamw{{"kind", "adamw"}, {"learning_rate", 3e-3}};
      const auto arm = [&](const char* name, const char* kind) {
        JsonObject arm{{"name", name}, {"optimizer", adamw}};
        if (*kind != 0)
          arm["switches"] =
              JsonArray{JsonObject{{"at", 10}, {"optimizer", JsonObject{{"kind", kind}}}}};
        return arm;
      };
      sweep["seeds"] = JsonArray{1};
      sweep["arms"] = JsonArray{arm("A", ""), arm("B", "muon"), arm("C", "lion")};
    });
  }
};

TEST_F(RunsTest, ARestartedRunTrainsItsOwnSegmentsAnewToTheSameBits) {
  const std::string expected = undisturbed(write_forked_sweep());
  const std::string out = path("undisturbed");
  const auto time_of = [&](size_t run) {
    const PlanRecord plan = plan_of(out);
    return fs::last_write_time(
        SegmentFolder(RunFolder(out), plan.runs[run].segments.back()).outcome());
  };
  const auto b = time_of(1), c = time_of(2);
  const Finished dry = draftlab({"restart", out, "B", "--dry-run"});
  EXPECT_EQ(dry.status, 0);
  EXPECT_THAT(dry.output, HasSubstr("B seed=1: 1 segment would be trained anew; what it shares"));
  EXPECT_EQ(time_of(1), b);
  const Finished restart = draftlab({"restart", out, "B"});
  EXPECT_EQ(restart.status, 0) << restart.output;
  EXPECT_NE(time_of(1), b);
  EXPECT_EQ(time_of(2), c) << "another run stays as it is";
  EXPECT_EQ(numbers_of(out), expected);
}

TEST_F(RunsTest, AForgottenRunIsGoneFromStatusAndReportAndResumesToTheSameBits) {
  const std::string expected = undisturbed(write_forked_sweep());
  const std::string out = path("undisturbed");
  EXPECT_EQ(draftlab({"forget", out, "C seed=1"}).status, 0);
  EXPECT_THAT(draftlab({"status", out}).output, HasSubstr("3 runs: 2 done, 1 waiting"));
  EXPECT_THAT(read_file(RunFolder(out).report() / "runs.csv"), HasSubstr("not started"));
  expect_resumed_as(expected, out);
  const Finished unknown = draftlab({"forget", out, "D"});
  EXPECT_EQ(unknown.status, 1);
  EXPECT_THAT(unknown.output, HasSubstr("is no run of this folder"));
}

TEST_F(RunsTest, OnlyWhatFailedIsTriedAgain) {
  const std::string expected = undisturbed(write_forked_sweep());
  const std::string out = path("undisturbed");
  const SegmentFolder second = SegmentFolder(RunFolder(out), plan_of(out).runs[1].segments.back());
  EXPECT_THAT(draftlab({"retry-failed", out}).output, HasSubstr("no run of"));
  write_outcome(second.outcome(),
                {.kind = OutcomeKind::kFailed, .reason = "made to fail", .segment = second.id()});
  const Finished retry = draftlab({"retry-failed", out});
  EXPECT_EQ(retry.status, 0) << retry.output;
  EXPECT_THAT(retry.output,
              AllOf(HasSubstr("B seed=1: 1 segment to train anew"), Not(HasSubstr("C seed=1: "))));
  EXPECT_EQ(numbers_of(out), expected);
}

TEST_F(RunsTest, ARunIsFoundByItsNameOnDiskAndItsLogIsShown) {
  undisturbed(write_forked_sweep());
  const RunFolder folder(path("undisturbed"));
  EXPECT_TRUE(fs::exists(folder.runs() / "B seed=1 to step 10" / "outcome.json"));
  EXPECT_TRUE(fs::exists(folder.runs() / "B seed=1 to step 30" / "outcome.json"));
  const Finished log = draftlab({"log", path("undisturbed"), "B"});
  EXPECT_EQ(log.status, 0);
  EXPECT_THAT(log.output, AllOf(HasSubstr("log.txt"), HasSubstr("done at step 10"),
                                HasSubstr("done at step 30")));
}

}  // namespace
}  // namespace draftlab

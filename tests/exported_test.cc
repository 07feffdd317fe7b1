// Tables are enough: through the real program, page, tables and decision come out of what a report
// exported as they do from the runs.
#include <gmock/gmock.h>

#include "base/file.h"
#include "source_dir.h"
#include "tests/smoke.h"

namespace draftlab {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::HasSubstr;

class ExportedTest : public SmokeTest {};

TEST_F(ExportedTest, ReportAndDecisionComeOutOfTablesAsOfTheRuns) {
  const std::string run = path("run"), tables = path("tables"), again = path("again");
  const std::string context = DRAFTLAB_SOURCE_DIR "/sweeps/decide_story.json";
  const std::string sweep = write_sweep("smoke.json", [](JsonObject& s) {
    s["seeds"] = JsonArray{1, 2, 3};
  });
  ASSERT_EQ(draftlab({"run", sweep, "--out", run, "--store", store()}).status, 0);
  ASSERT_EQ(draftlab({"report", run, "--out", tables}).status, 0);
  const Finished decision = draftlab({"decide", run, "--context", context, "--json"});
  ASSERT_EQ(decision.status, 0) << decision.output;
  fs::remove_all(run);

  const Finished report = draftlab({"report", tables, "--out", again});
  ASSERT_EQ(report.status, 0) << report.output;
  for (const auto& file : fs::directory_iterator(tables)) {
    const fs::path name = file.path().filename();
    EXPECT_EQ(read_file(fs::path(again) / name), read_file(file.path())) << name;
  }
  EXPECT_EQ(draftlab({"decide", tables, "--context", context, "--json"}).output, decision.output);

  const Finished events = draftlab({"report", again, "--tensorboard", path("events")});
  EXPECT_NE(events.status, 0);
  EXPECT_THAT(events.output, HasSubstr("result folder"));
  const Finished both = draftlab({"report", again, tables, "--out", path("both")});
  EXPECT_THAT(both.output, AllOf(HasSubstr("tables of a report"), HasSubstr("--each")));
  EXPECT_EQ(draftlab({"report", again, tables, "--each", "--out", path("both")}).status, 0);

  fs::remove(fs::path(again) / "study.json");
  EXPECT_THAT(draftlab({"decide", again, "--context", context}).output, HasSubstr("no study.json"));
}

}  // namespace
}  // namespace draftlab

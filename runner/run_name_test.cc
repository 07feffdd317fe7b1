#include "runner/run_name.h"

#include <gmock/gmock.h>

#include <filesystem>

#include "base/file.h"
#include "testing/example_sweep.h"

namespace draftlab {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

TEST(RunName, IsFoundByNameIdOrAnyBeginningOfOneAlone) {
  const PlanRecord plan = example_plan({{"/seeds", "[1, 2, 12]"}});
  EXPECT_EQ(&find_run(plan, plan.runs[0].name), &plan.runs[0]) << "also where it begins another";
  EXPECT_EQ(&find_run(plan, plan.runs[1].segments[0]), &plan.runs[1]);
  EXPECT_EQ(&find_run(plan, "adamw seed=12"), &plan.runs[2]);
  EXPECT_EQ(&find_run(plan, "adamw seed=2"), &plan.runs[1]);
  EXPECT_THAT(message_of([&] { find_run(plan, "adamw"); }), HasSubstr("may be any of these runs"));
  EXPECT_THAT(message_of([&] { find_run(plan, "adamw sed=2"); }),
              HasSubstr("did you mean 'adamw seed=2'?"));
  EXPECT_THAT(message_of([&] { find_run(plan, "x"); }), HasSubstr("its runs are:"));
}

TEST(RunName, IsNoPathWhateverASweepCallsItsArms) {
  EXPECT_EQ(file_name_of("muon lr=0.01 seed=1"), "muon lr=0.01 seed=1");
  EXPECT_EQ(file_name_of("../../etc/x\n"), "_.._.._etc_x_");
  EXPECT_EQ(file_name_of("."), "_.");
  EXPECT_LE(file_name_of(std::string(5000, 'x')).size(), 100u);
}

TEST(RunLinks, LeadToTheSegmentsAndAreMendedWhereTheyAreGoneOrStale) {
  ScratchFolder scratch;
  const RunFolder folder(scratch.path());
  PlanRecord plan = example_plan({{"/seeds", "[1, 2]"}});
  link_runs(folder, plan);
  EXPECT_EQ(fs::read_symlink(folder.runs() / plan.runs[0].name),
            fs::path("../segments") / plan.runs[0].segments[0]);
  fs::remove(folder.runs() / plan.runs[0].name);
  fs::create_symlink("elsewhere", folder.runs() / "adamw seed=9");
  fs::remove(folder.runs() / plan.runs[1].name);
  fs::create_symlink("elsewhere", folder.runs() / plan.runs[1].name);
  replace_file(folder.runs() / "notes", "mine");
  link_runs(folder, plan);
  for (const PlannedRun& run : plan.runs)
    EXPECT_EQ(fs::read_symlink(folder.runs() / run.name),
              fs::path("../segments") / run.segments[0]);
  EXPECT_FALSE(fs::is_symlink(folder.runs() / "adamw seed=9"));
  EXPECT_TRUE(fs::exists(folder.runs() / "notes"));
  // Two names that are one file name.
  plan.runs[0].name = "a/b";
  plan.runs[1].name = "a_b";
  link_runs(folder, plan);
  EXPECT_TRUE(fs::is_symlink(folder.runs() / "a_b"));
  EXPECT_TRUE(fs::is_symlink(folder.runs() / ("a_b " + plan.runs[1].segments[0])));
}

}  // namespace
}  // namespace draftlab

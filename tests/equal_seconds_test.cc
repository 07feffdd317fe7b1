#include <gmock/gmock.h>

#include "base/file.h"
#include "source_dir.h"
#include "tests/smoke.h"

namespace draftlab {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr char kSweep[] = DRAFTLAB_SOURCE_DIR "/sweeps/seconds_smoke.json";

class EqualSecondsTest : public SmokeTest {};

TEST_F(EqualSecondsTest, ArmsAreTimedThenFrozenAndComparedEachAtTheEndOfItsSchedule) {
  const std::string out = path("out");
  const Finished run = draftlab({"run", kSweep, "--out", out, "--store", store(), "--jobs", "1"});
  ASSERT_EQ(run.status, 0) << run.output;
  EXPECT_THAT(run.output, HasSubstr("equal seconds: 40 steps of AdamW fit "));
  const PlanRecord plan = plan_of(out);
  const JsonObject& compare = plan.sweep.at("compare").as_object();
  const double budget = compare.at("seconds").as_double();
  for (const PlannedSegment& segment : plan.segments) {
    const std::string arm = segment.config.optimizer.kind == "muon" ? "Muon" : "AdamW";
    const double step = compare.at("step_seconds").at(arm).as_double();
    EXPECT_LE(static_cast<double>(segment.config.training.steps) * step, budget * (1 + 1e-9));
    EXPECT_GT(static_cast<double>(segment.config.training.steps + 1) * step, budget);
  }
  EXPECT_FALSE(fs::exists(fs::path(out) / "timing"));
  const Finished check = draftlab({"check", out});
  EXPECT_THAT(check.output, Not(HasSubstr("F12  refuses")));
  EXPECT_THAT(check.output, Not(HasSubstr("F16")));
  EXPECT_THAT(check.output, Not(HasSubstr("F15")));
  EXPECT_THAT(run.output, HasSubstr("difference to AdamW"));
  const std::string page = read_file(RunFolder(out).report_page());
  EXPECT_THAT(page, HasSubstr("Acceptance length at equal seconds"));
  EXPECT_THAT(page, HasSubstr(" of training each, at the end of its schedule, "));

  // What was measured is frozen: the same command has nothing to do, whatever a step takes now.
  const std::string numbers = numbers_of(out);
  const Finished again = draftlab({"run", kSweep, "--out", out, "--store", store()});
  EXPECT_EQ(again.status, 0) << again.output;
  EXPECT_THAT(again.output, Not(HasSubstr("start ")));
  // Another budget is another plan, and told.
  const Finished longer = draftlab(
      {"run", kSweep, "--out", out, "--store", store(), "--set", "compare={\"seconds\": 60}"});
  EXPECT_EQ(longer.status, 1);
  EXPECT_THAT(longer.output, HasSubstr("was frozen from another sweep"));
  fs::remove_all(segment_of(out, 1).root());
  expect_resumed_as(numbers, out);
  // And repeats elsewhere, given as it was frozen.
  Json sweep = read_json(kSweep);
  sweep.as_object()["compare"] = compare;
  sweep.as_object()["store"] = JsonObject{{"folder", store()}};
  replace_file(path("resolved.json"), pretty(sweep));
  const Finished same = draftlab({"run", path("resolved.json"), "--out", path("same")});
  ASSERT_EQ(same.status, 0) << same.output;
  EXPECT_EQ(numbers_of(path("same")), numbers);
}

TEST_F(EqualSecondsTest, AnArmWhoseSettingsTakeDifferentTimesIsRefused) {
  Json sweep = read_json(kSweep);
  sweep.as_object()["store"] = JsonObject{{"folder", store()}};
  sweep.as_object().erase("tuning");
  sweep.as_object()["arms"].as_array()[1].as_object()["optimizer"].as_object()["steps"] =
      JsonArray{2, 5};
  sweep.as_object()["split"] = JsonObject{{"train", 24}, {"held_out", 8}};
  replace_file(path("mixed.json"), pretty(sweep));
  const Finished run = draftlab({"run", path("mixed.json"), "--out", path("mixed")});
  EXPECT_EQ(run.status, 1);
  EXPECT_THAT(run.output, HasSubstr("arm 'Muon': its settings differ in more than learning rates"));
  EXPECT_FALSE(fs::exists(path("mixed/timing")));
  EXPECT_FALSE(fs::exists(path("mixed/plan.json")));
}

}  // namespace
}  // namespace draftlab

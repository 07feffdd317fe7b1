#include <gmock/gmock.h>

#include <algorithm>
#include <sstream>

#include "base/file.h"
#include "source_dir.h"
#include "tests/smoke.h"

namespace draftlab {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::SizeIs;

std::vector<std::string> lines_of(const std::string& text) {
  std::istringstream in(text);
  std::vector<std::string> lines;
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

// The smoke sweep with two arms that are tuned: two rates each, which may grow by one.
class TuningTest : public SmokeTest {
 protected:
  std::string write_tuned_sweep(const std::string& name, int64_t seed = 11) const {
    return write_sweep(name, [&](JsonObject& sweep) {
      sweep["tuning"] = JsonObject{{"seeds", JsonArray{seed}}, {"extend", 1}};
      const auto arm = [](const char* arm, const char* kind, JsonArray rates) {
        return JsonObject{{"name", arm},
                          {"optimizer", JsonObject{{"kind", kind}, {"learning_rate", rates}}}};
      };
      sweep["arms"] =
          JsonArray{arm("AdamW", "adamw", {1e-3, 2e-3}), arm("Lion", "lion", {1e-4, 2e-4})};
    });
  }
};

TEST_F(TuningTest, OneRunCommandTunesAndThenRunsTheBestSettingsWithFreshSeeds) {
  const Finished run = draftlab(
      {"run", write_tuned_sweep("tuned.json"), "--out", path("tuned"), "--store", store()});
  ASSERT_EQ(run.status, 0) << run.output;
  const PlanRecord plan = plan_of(path("tuned"));
  ASSERT_EQ(plan.phases, 3) << run.output;  // more steps a rate help these 30 steps
  ASSERT_THAT(plan.decisions, SizeIs(4));
  for (size_t i = 2; i < 4; ++i) {
    // The best is chosen by the least held number, again from the numbers that are recorded.
    const TuningDecision& decision = plan.decisions[i];
    ASSERT_THAT(decision.trials, SizeIs(3));
    double least = decision.trials[0].mean;
    for (const TrialScore& trial : decision.trials) least = std::min(least, trial.mean);
    for (const TrialScore& trial : decision.trials) {
      if (trial.point != decision.best) continue;
      EXPECT_EQ(trial.mean, least);
    }
    for (const PlannedRun& planned : plan.runs) {
      if (planned.arm != decision.arm || planned.phase != kFinal) continue;
      EXPECT_EQ(planned.point, decision.best);
      EXPECT_NE(planned.seeds.data, 11);
    }
  }
  EXPECT_EQ(std::count_if(plan.runs.begin(), plan.runs.end(),
                          [](const PlannedRun& r) { return r.phase == kFinal; }),
            4);
  // Nothing is left to do, and no phase is decided twice.
  const Finished again = draftlab({"resume", path("tuned")});
  EXPECT_EQ(again.status, 0) << again.output;
  EXPECT_THAT(again.output, Not(HasSubstr("start ")));
  EXPECT_EQ(plan_of(path("tuned")).phases, 3);
}

TEST_F(TuningTest, WhereAllSettingsTieRunnerAndReportTakeTheSameOneAndSaySo) {
  // Steps so small that no weight changes.
  const std::string sweep = write_sweep("tie.json", [](JsonObject& sweep) {
    sweep["training"].as_object()["steps"] = 1;
    sweep["evaluation"] = JsonObject{{"every", 1}, {"stride", 2}};
    sweep["tuning"] = JsonObject{{"seeds", JsonArray{11}}, {"extend", 0}};
    sweep.erase("target");
    sweep["arms"] = JsonArray{JsonObject{
        {"name", "AdamW"},
        {"optimizer", JsonObject{{"kind", "adamw"}, {"learning_rate", JsonArray{2e-12, 1e-12}}}}}};
  });
  const Finished run = draftlab({"run", sweep, "--out", path("tie"), "--store", store()});
  ASSERT_EQ(run.status, 0) << run.output;
  EXPECT_THAT(run.output, HasSubstr("lr=2e-12 is best of 2"));
  EXPECT_THAT(run.output, HasSubstr("as have all of them: nothing tells them apart"));
  EXPECT_EQ(plan_of(path("tie")).decisions[0].best, "lr=2e-12");
  const RunFolder folder(path("tie"));
  for (const std::string& row : lines_of(read_file(folder.report() / "trials.csv"))) {
    if (row.starts_with("AdamW,")) {
      EXPECT_EQ(row.find(",1,1,0,yes,") != std::string::npos,
                row.starts_with("AdamW,learning_rate 2e-12,"))
          << row;
    }
  }
  EXPECT_THAT(read_file(folder.report_page()),
              HasSubstr("All settings of AdamW tie in acceptance length"));
  EXPECT_THAT(draftlab({"check", path("tie")}).output,
              HasSubstr("All 2 settings of AdamW tie in acceptance length"));
}

TEST_F(TuningTest, AKillBetweenOrInsideOfThePhasesChangesNothing) {
  const std::string sweep = write_tuned_sweep("tuned.json");
  const std::string expected = undisturbed(sweep);
  // As if the runner had died after its trials, before it froze what follows; and in the middle of
  // the final runs.
  const RunFolder whole(path("undisturbed"));
  const fs::path copy = path("copy");
  fs::copy(whole.root(), copy, fs::copy_options::recursive);
  fs::remove(RunFolder(copy).phase(3));
  expect_resumed_as(expected, copy.string());
  EXPECT_EQ(read_file(RunFolder(copy).phase(3)), read_file(whole.phase(3)));
  const PlanRecord plan = plan_of(copy.string());
  fs::remove_all(SegmentFolder(RunFolder(copy), plan.runs.back().segments[0]).root());
  expect_resumed_as(expected, copy.string());
}

TEST_F(TuningTest, APhaseThatCannotBeReadHidesNoRunOfThePhasesBefore) {
  undisturbed(write_tuned_sweep("tuned.json"));
  const RunFolder folder(path("undisturbed"));
  replace_file(folder.phase(3), "{\"schema\": 3");
  const Finished status = draftlab({"status", path("undisturbed")});
  EXPECT_EQ(status.status, 1);
  EXPECT_THAT(status.output, HasSubstr("AdamW lr=0.001 seed=11  done"));
  EXPECT_THAT(status.output, HasSubstr("a later phase cannot be read"));
  EXPECT_THAT(status.output, HasSubstr("phase_3.json"));
}

TEST_F(TuningTest, ASearchTriesAsManyPointsOfEachArmAndTrainsTheBestWhateverTheJobs) {
  const std::string sweep = DRAFTLAB_SOURCE_DIR "/sweeps/search_smoke.json";
  std::string numbers;
  for (const char* jobs : {"1", "2"}) {
    const std::string out = path(std::string("search") + jobs);
    const Finished run = draftlab({"run", sweep, "--out", out, "--store", store(), "--jobs", jobs});
    ASSERT_EQ(run.status, 0) << run.output;
    const PlanRecord plan = plan_of(out);
    EXPECT_EQ(plan.phases, 2);
    for (const TuningDecision& decision : plan.decisions) {
      EXPECT_THAT(decision.trials, SizeIs(8));
      EXPECT_EQ(decision.extended, "");
    }
    EXPECT_EQ(std::ranges::count(plan.runs, kFinal, &PlannedRun::phase), 6);
    if (numbers.empty()) numbers = numbers_of(out);
    EXPECT_EQ(numbers_of(out), numbers);
  }
  // Stopped in the middle of its trials, it ends the same.
  fs::remove(RunFolder(path("search2")).phase(2));
  fs::remove_all(segment_of(path("search2"), 5).root());
  expect_resumed_as(numbers, path("search2"));
}

TEST_F(TuningTest, OtherTuningSeedsAreAnotherPlan) {
  const std::string sweep = write_tuned_sweep("tuned.json");
  undisturbed(sweep);
  const std::string other = write_tuned_sweep("other.json", 12);
  const Finished run = draftlab({"run", other, "--out", path("undisturbed"), "--store", store()});
  EXPECT_NE(run.status, 0);
  EXPECT_THAT(run.output, HasSubstr("was frozen from another sweep"));
}

}  // namespace
}  // namespace draftlab

#include <gmock/gmock.h>

#include <algorithm>
#include <regex>

#include "base/error.h"
#include "base/file.h"
#include "record/lives.h"
#include "reports/checks/checked_study.h"
#include "reports/checks/fairness.h"
#include "reports/page/page.h"
#include "reports/page/report.h"
#include "reports/study/study.h"
#include "reports/tables/tables.h"
#include "testing/synthetic_folder.h"

namespace draftlab {
namespace {

namespace fs = std::filesystem;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsSupersetOf;
using ::testing::Not;
using ::testing::SizeIs;
using ::testing::UnorderedElementsAre;

// Several result folders as one study.
class SeveralFoldersTest : public ::testing::Test {
 protected:
  SeveralFoldersTest() : root_(scratch_folder("draftlab_study_test")) { fs::remove_all(root_); }
  ~SeveralFoldersTest() override { fs::remove_all(root_); }

  // AdamW in one folder and Muon in the other, the second with this difference.
  static SyntheticSweep sweep_of(size_t arm) {
    SyntheticSweep sweep = SyntheticSweep::of_four();
    sweep.arms = {sweep.arms[arm]};
    sweep.tuning = 20;
    return sweep;
  }
  Study load(const SyntheticSweep& a, const SyntheticSweep& b) {
    return checked_study(
        {write_synthetic_folder(root_ / "a", a), write_synthetic_folder(root_ / "b", b)});
  }
  // Ids of the checks that refuse a winner at equal steps.
  std::vector<std::string> refusals(const SyntheticSweep& second) {
    std::vector<std::string> ids;
    for (const FairnessFinding& finding : load(sweep_of(0), second).findings) {
      if (finding.severity == Severity::kRefuse && !finding.by_time_only) ids.push_back(finding.id);
    }
    fs::remove_all(root_);
    return ids;
  }
  std::vector<std::string> refusals_of(const std::function<void(SegmentConfig&)>& change) {
    SyntheticSweep second = sweep_of(1);
    second.change = change;
    return refusals(second);
  }
  fs::path root_;
};

TEST_F(SeveralFoldersTest, AReportOfEachIsLinkedFromOnePageWithWhatItAnswers) {
  SyntheticSweep four = SyntheticSweep::of_four();
  const RunFolder a = write_synthetic_folder(root_ / "first & best", four);
  const RunFolder b = write_synthetic_folder(root_ / "b", sweep_of(1));
  const fs::path out = root_ / "pages";
  for (int time = 0; time < 2; ++time) {  // written again it is the same
    require_report_place(out);
    write_reports({a, b}, out);
    const std::string index = read_file(out / "index.html");
    EXPECT_THAT(index, HasSubstr("<a href=\"first%20%26%20best/index.html\">"));
    EXPECT_THAT(index, HasSubstr("<a href=\"b/index.html#fairness\">Checks</a>"));
    const std::string page = read_file(out / "first & best" / "index.html");
    const size_t begin = page.find("<h1>") + 4;
    EXPECT_THAT(index, HasSubstr(page.substr(begin, page.find("</h1>") - begin)));
    EXPECT_TRUE(fs::exists(out / "b" / "runs.csv"));
  }
  const RunFolder same = write_synthetic_folder(root_ / "elsewhere" / "b", sweep_of(1));
  EXPECT_THROW(write_reports({b, same}, root_ / "clash"), Error);
  EXPECT_FALSE(fs::exists(root_ / "clash"));
  replace_file(out / "b" / "notes.txt", "mine");
  EXPECT_THROW(write_reports({a, b}, out), Error);
}

std::vector<std::string> arms_of(const Study& study) {
  std::vector<std::string> names;
  for (const Arm& arm : study.summary.arms) names.push_back(arm.name);
  return names;
}

// A folder with some arms of another, and the same store.
RunFolder part_of(const RunFolder& whole, const fs::path& root,
                  const std::vector<std::string>& arms) {
  const RunFolder part(root);
  make_folder(part.segments());
  PlanRecord plan = read_plan(whole);
  std::vector<PlannedSegment> segments;
  std::erase_if(plan.runs, [&](const PlannedRun& run) {
    return std::find(arms.begin(), arms.end(), run.arm) == arms.end();
  });
  for (const PlannedRun& run : plan.runs) {
    const std::string& id = run.segments[0];
    fs::copy(SegmentFolder(whole, id).root(), SegmentFolder(part, id).root(),
             fs::copy_options::recursive);
    for (const PlannedSegment& segment : plan.segments) {
      if (segment.id == id) segments.push_back(segment);
    }
    EventLog log(part.events());
    for (const WorkerEvent& event : read_events(whole.events())) {
      if (event.segment != id) continue;
      log.start(event);
      log.end(event);
    }
  }
  plan.segments = segments;
  write_plan(part.plan(), plan);
  return part;
}

TEST_F(SeveralFoldersTest, TwoHalvesOfASweepGiveTheNumbersOfTheWhole) {
  SyntheticSweep sweep = SyntheticSweep::of_four();
  sweep.arms[1].name = "M\"u,on";
  const RunFolder whole = write_synthetic_folder(root_ / "whole", sweep);
  const Study one = checked_study(whole);
  const Study two =
      checked_study(std::vector{part_of(whole, root_ / "half 1", {"AdamW", "M\"u,on"}),
                                part_of(whole, root_ / "half 2", {"NorMuon", "Turbo-Muon"})});
  EXPECT_EQ(arms_csv(two), arms_csv(one));
  EXPECT_EQ(pairs_csv(two), pairs_csv(one));
  EXPECT_EQ(checks_csv(two), checks_csv(one));
  EXPECT_EQ(trials_csv(two.summary), trials_csv(one.summary));
  EXPECT_EQ(evaluations_csv(two.results), evaluations_csv(one.results));
  EXPECT_EQ(updates_csv(two.results), updates_csv(one.results));
  EXPECT_THAT(runs_csv(two.results), HasSubstr(",half 1,"));
  EXPECT_EQ(std::regex_replace(runs_csv(two.results), std::regex("half [12],"), ","),
            runs_csv(one.results));
  EXPECT_EQ(two.plan.name, "quick");
  EXPECT_THAT(page(two), HasSubstr("<dd>half 1 and half 2</dd>"));
}

// Trains otherwise than the same sweep without it.
void clip_less(SegmentConfig& config) { config.training.clip = 17; }

TEST_F(SeveralFoldersTest,
       ArmsThatTrainAlikeAreOneWithTheSeedsOfAllAndARunOfSeveralFoldersCountsOnce) {
  SyntheticSweep few = SyntheticSweep::of_four(), more = few;
  more.seeds = 5;
  const RunFolder a = write_synthetic_folder(root_ / "a", few),
                  b = write_synthetic_folder(root_ / "b", more);
  const Study together = checked_study(std::vector{a, b}), all = checked_study(b);
  EXPECT_EQ(arms_csv(together), arms_csv(all));
  EXPECT_EQ(pairs_csv(together), pairs_csv(all));
  EXPECT_EQ(together.results.size(), all.results.size());
  // Seeds that only one of them has, and a run that only the other finished.
  const RunFolder c = write_synthetic_folder(
      root_ / "c", few, {{synthetic_run("Muon", 1e-2, 2), "failed", "made to fail"}});
  const Study mended = checked_study(std::vector{c, b});
  for (size_t i = 0; i < all.summary.arms.size(); ++i) {
    const Setting &one = *mended.summary.arms[i].chosen(), &other = *all.summary.arms[i].chosen();
    EXPECT_EQ(one.finished.size(), 5u);
    EXPECT_NEAR(at_end(one, Measure::kLoss).estimate.mean,
                at_end(other, Measure::kLoss).estimate.mean, 1e-12);
  }
  // The same training in two folders is no copy of another training, and nobody stopped.
  for (const FairnessFinding& finding : together.findings) {
    EXPECT_NE(finding.id, "F29");
    EXPECT_NE(finding.id, "F28");
  }
}

TEST_F(SeveralFoldersTest, ArmsOfOneNameThatTrainDifferentlyStayApart) {
  SyntheticSweep first = SyntheticSweep::of_four(), second = first;
  second.change = clip_less;
  first.arms = {first.arms[0], first.arms[1]};
  second.arms = {second.arms[0], second.arms[2]};
  second.name = "other";
  const Study study = load(first, second);
  EXPECT_THAT(arms_of(study), ElementsAre("AdamW (a)", "Muon", "AdamW (b)", "NorMuon"));
  EXPECT_EQ(study.plan.name, "quick + other");
  EXPECT_EQ(study.results[0].run, "AdamW lr=5e-04 seed=1 (a)");
  std::set<std::string> runs;
  for (const Result& run : study.results) EXPECT_TRUE(runs.insert(run.run).second) << run.run;
}

TEST_F(SeveralFoldersTest, FoldersOfOneNameAreToldApartByTheirPaths) {
  const SyntheticSweep sweep = sweep_of(0);
  SyntheticSweep other = sweep;
  other.change = clip_less;
  const Study study = checked_study({write_synthetic_folder(root_ / "x/run", sweep),
                                     write_synthetic_folder(root_ / "y/run", other)});
  EXPECT_THAT(arms_of(study), ElementsAre("AdamW (" + (root_ / "x/run").string() + ")",
                                          "AdamW (" + (root_ / "y/run").string() + ")"));
}

TEST_F(SeveralFoldersTest, AFolderThatIsGivenTwiceIsAnError) {
  const RunFolder folder = write_synthetic_folder(root_ / "a", sweep_of(0));
  EXPECT_THROW(checked_study({folder, RunFolder(root_ / "b/../a/")}), Error);
}

TEST_F(SeveralFoldersTest, NamesThatStillCollideAreAnError) {
  SyntheticSweep first = sweep_of(0), second = sweep_of(0);
  first.arms.push_back(first.arms[0]);
  first.arms[1].name = "AdamW (b)";
  first.arms[1].rates = {0.5};
  second.change = clip_less;
  EXPECT_THROW(load(first, second), Error);
}

TEST_F(SeveralFoldersTest, WhatBelongsTogetherIsNotRefused) {
  EXPECT_THAT(refusals(sweep_of(1)), SizeIs(0));
}

TEST_F(SeveralFoldersTest, WhatMustBeEqualAndIsNotIsRefused) {
  EXPECT_THAT(refusals_of([](SegmentConfig& c) { c.store = std::string(64, 'e'); }),
              ElementsAre("F09"));
  EXPECT_THAT(refusals_of([](SegmentConfig& c) { c.split.train -= 10; }), ElementsAre("F09"));
  EXPECT_THAT(refusals_of([](SegmentConfig& c) { c.split.held_out -= 4; }), ElementsAre("F16"));
  EXPECT_THAT(refusals_of([](SegmentConfig& c) { c.split.tuning -= 4; }), ElementsAre("F16"));
  EXPECT_THAT(refusals_of([](SegmentConfig& c) { c.split.by = "group"; }), ElementsAre("F16"));
  EXPECT_THAT(refusals_of([](SegmentConfig& c) { c.evaluation.stride = 8; }), ElementsAre("F16"));
  EXPECT_THAT(refusals_of([](SegmentConfig& c) {
                c.evaluation.steps = {0, 100, 200};
              }),
              ElementsAre("F16"));
  EXPECT_THAT(refusals_of([](SegmentConfig& c) { c.drafter.block_size = 8; }), ElementsAre("F09"));
  EXPECT_THAT(refusals_of([](SegmentConfig& c) { c.training.labels = "argmax"; }),
              ElementsAre("F09"));
  EXPECT_THAT(refusals_of([](SegmentConfig& c) { c.training.sequences_per_step = 8; }),
              ElementsAre("F11"));
  EXPECT_THAT(refusals_of([](SegmentConfig& c) { c.training.schedule = "constant"; }),
              ElementsAre("F12"));
}

TEST_F(SeveralFoldersTest, RunsThatSawOtherDataAreRefused) {
  const RunFolder a = write_synthetic_folder(root_ / "a", sweep_of(0));
  const RunFolder b = write_synthetic_folder(root_ / "b", sweep_of(1));
  for (const PlannedSegment& segment : read_plan(b).segments) {
    const fs::path log = SegmentFolder(b, segment.id).metrics();
    replace_file(log, std::regex_replace(read_file(log), std::regex("\"data_hash\":\"[0-9a-f]{4}"),
                                         "\"data_hash\":\"0000"));
  }
  const Study study = checked_study({a, b});
  const auto refusal = std::ranges::find(study.findings, "F08", &FairnessFinding::id);
  ASSERT_NE(refusal, study.findings.end());
  EXPECT_EQ(refusal->severity, Severity::kRefuse);
  EXPECT_THAT(refusal->arms, ElementsAre("Muon"));
}

TEST_F(SeveralFoldersTest, OtherBuildsAndMachinesWarn) {
  const RunFolder a = write_synthetic_folder(root_ / "a", sweep_of(0));
  const RunFolder b = write_synthetic_folder(root_ / "b", sweep_of(1));
  for (const PlannedSegment& segment : read_plan(b).segments) {
    const fs::path file = SegmentFolder(b, segment.id).provenance();
    Life life = read_lives(file).at(0);
    life.build["draftlab_version"] = "0.2.0";
    life.machine.cpu = "Synthetic 9001";
    fs::remove(file);
    add_life(file, life);
  }
  std::vector<std::string> ids;
  for (const FairnessFinding& finding : checked_study({a, b}).findings) {
    if (finding.severity == Severity::kWarn) ids.push_back(finding.id);
  }
  EXPECT_THAT(ids, IsSupersetOf({"F18", "F27"}));
}

TEST_F(SeveralFoldersTest, DifferentTargetsAreNoTargetAndTheChecksSaySo) {
  SyntheticSweep second = sweep_of(1);
  second.target.value = 1.35;
  const Study study = load(sweep_of(0), second);
  EXPECT_EQ(study.plan.target.metric, "");
  EXPECT_FALSE(study.results[0].steps_to_target.has_value());
  const auto warning = std::ranges::find(study.findings, "F33", &FairnessFinding::id);
  ASSERT_NE(warning, study.findings.end());
  EXPECT_EQ(warning->severity, Severity::kWarn);
  EXPECT_THAT(warning->sentence, HasSubstr("at least 1.3 in 12 runs"));
  EXPECT_THAT(warning->sentence, HasSubstr("at least 1.35 in 9 runs"));
  EXPECT_THAT(page(study), HasSubstr("no target in common"));
}

TEST_F(SeveralFoldersTest, RunsOfTwoFoldersThatOverlappedWereNotAlone) {
  // Both begin at the same second.
  const Study study = load(sweep_of(0), sweep_of(1));
  EXPECT_EQ(study.results[0].alone, false);
  EXPECT_EQ(checked_study(study.sources[0].folder).results[0].alone, true);
}

TEST_F(SeveralFoldersTest, StatedOptionsAreFoundInTheSweepOfTheirArm) {
  const auto with_sweep = [&](const char* name, size_t arm, const JsonObject& optimizer) {
    const RunFolder folder = write_synthetic_folder(root_ / name, sweep_of(arm));
    PlanRecord plan = read_plan(folder);
    plan.sweep = JsonObject{
        {"arms", JsonArray{JsonObject{{"name", plan.runs[0].arm}, {"optimizer", optimizer}}}}};
    write_plan(folder.plan(), plan);
    return folder;
  };
  const Study study =
      checked_study({with_sweep("a", 0, {{"kind", "adamw"}, {"learning_rate", 1e-3}}),
                     with_sweep("b", 1, {{"kind", "muon"}, {"learning_rate", 1e-2}})});
  // Weight decay was stated for neither.
  const bool found = std::ranges::any_of(study.findings, [](const FairnessFinding& finding) {
    return finding.id == "F25" && finding.sentence.find("weight_decay") != std::string::npos &&
           finding.sentence.find("learning_rate of") == std::string::npos;
  });
  const Setting& adamw = *study.summary.arms[0].chosen();
  const Setting& muon = *study.summary.arms[1].chosen();
  EXPECT_EQ(found, canonical(*adamw.optimizer.find("weight_decay")) !=
                       canonical(*muon.optimizer.find("weight_decay")));
}

TEST_F(SeveralFoldersTest, AReportLeavesNoTableOfTheStudyBeforeIt) {
  const fs::path out = root_ / "out";
  const RunFolder folder = write_synthetic_folder(root_ / "a", sweep_of(0));
  write_report(checked_study(folder), out);
  // As if that study had had a switch, and a link stood where a table goes.
  replace_file(out / "switch_study.csv", "study,variant\r\n");
  replace_file(root_ / "mine", "mine");
  fs::remove(out / "arms.csv");
  fs::create_symlink(root_ / "mine", out / "arms.csv");
  const std::string arms = arms_csv(checked_study(folder));
  write_report(checked_study(folder), out);
  EXPECT_FALSE(fs::exists(out / "switch_study.csv"));
  EXPECT_EQ(read_file(out / "arms.csv"), arms);
  EXPECT_EQ(read_file(root_ / "mine"), "mine");
  replace_file(out / "index.html.123.tmp", "half a page");
  EXPECT_NO_THROW(require_report_place(out)) << "what a killed report left is no foreign file";
  make_folder(root_ / "begun");
  replace_file(root_ / "begun/index.html.123.tmp", "half a page");
  EXPECT_NO_THROW(require_report_place(root_ / "begun")) << "also where it is all there is";
}

TEST_F(SeveralFoldersTest, AReportGoesOnlyWhereItOverwritesNothingElse) {
  const RunFolder folder = write_synthetic_folder(root_ / "a", sweep_of(0));
  const Study study = checked_study(folder);
  const fs::path out = root_ / "out/report";
  EXPECT_NO_THROW(require_report_place(out));
  write_report(study, out);
  EXPECT_NO_THROW(require_report_place(out)) << "a report may be written again";
  replace_file(out / "notes.txt", "mine");
  EXPECT_THROW(require_report_place(out), Error);
  make_folder(root_ / "site");
  replace_file(root_ / "site/index.html", "<title>My cats</title>");
  EXPECT_THROW(require_report_place(root_ / "site"), Error);
  EXPECT_THROW(require_report_place(root_ / "site/index.html"), Error);
  for (const fs::path& inside :
       {folder.root(), folder.report(), folder.segments() / "new", folder.root() / "new/deep"}) {
    EXPECT_THROW(require_report_place(inside), Error) << inside;
    EXPECT_THROW(require_outside_results(inside), Error) << inside;
  }
}

}  // namespace
}  // namespace draftlab

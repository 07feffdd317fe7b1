#include "reports/study/result.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "base/file.h"
#include "record/events.h"
#include "testing/synthetic_folder.h"

namespace draftlab {
namespace {

using ::testing::HasSubstr;

class ResultTest : public ::testing::Test {
 protected:
  ResultTest() : root_(scratch_folder("draftlab_result_test")) {
    std::filesystem::remove_all(root_);
    sweep_.arms = {{"AdamW", "adamw", {1e-3}, {1.4}, 0.004}};
  }
  ~ResultTest() override { std::filesystem::remove_all(root_); }

  std::vector<Result> load(const std::vector<SyntheticEnd>& ends = {}) {
    const RunFolder folder = write_synthetic_folder(root_, sweep_, ends);
    return load_results(folder, read_plan(folder));
  }

  std::filesystem::path root_;
  SyntheticSweep sweep_;
};

TEST_F(ResultTest, AFinishedRunHasAllItsNumbers) {
  sweep_.tuning = 24;
  const std::vector<Result> results = load();
  ASSERT_EQ(results.size(), 3u);
  const Result& r = results[1];  // seed 2: L = 1.4 + 0.004
  EXPECT_EQ(r.run, "AdamW lr=0.001 seed=2");
  EXPECT_EQ(r.outcome, "done");
  EXPECT_EQ(r.reason, "");
  EXPECT_EQ(r.steps, 200);
  EXPECT_EQ(r.tokens, 30000);
  EXPECT_NEAR(r.train_seconds, 200 * 0.055, 1e-9);
  EXPECT_NEAR(r.model_seconds, 200 * 0.05, 1e-9);
  EXPECT_NEAR(r.optimizer_seconds, 200 * 0.004, 1e-9);
  EXPECT_NEAR(r.data_seconds, 200 * 0.001, 1e-9);
  EXPECT_EQ(r.held_out.size(), 4u);
  EXPECT_DOUBLE_EQ(r.first(Split::kHeldOut, Measure::kAcceptanceLength), 1);
  EXPECT_DOUBLE_EQ(r.last(Split::kHeldOut, Measure::kAcceptanceLength), 1.404);
  EXPECT_DOUBLE_EQ(r.final(Split::kTuning, Measure::kAcceptanceLength), 1.399);
  EXPECT_EQ(r.baselines->bigram_acceptance_length, 1.18);
  ASSERT_EQ(r.lives.size(), 1u);
  EXPECT_EQ(r.lives[0].build.at("libtorch").as_string(), "2.11.0");
  EXPECT_EQ(r.alone, true);
}

TEST_F(ResultTest, UpdatesAndGradientsAreThoseOfTheEvaluatedSteps) {
  const Result r = load()[0];
  std::set<int64_t> steps;
  for (const UpdateRow& row : r.updates) {
    steps.insert(row.step);
    EXPECT_DOUBLE_EQ(row.ratio(), 1e-3) << row.kind;
  }
  EXPECT_THAT(steps, ::testing::ElementsAre(50, 100, 200));
  ASSERT_EQ(r.gradients.size(), 3u);
  EXPECT_EQ(r.gradients[0].step, 50);
  EXPECT_EQ(r.gradients[0].clipped_share, 1) << "steps 1 to 50";
  EXPECT_EQ(r.gradients[1].clipped_share, 0) << "steps 51 to 100";
  EXPECT_EQ(r.gradients[1].schedule, 1);
  double norm = 0;
  for (int step = 101; step <= 200; ++step) norm += 1 + 1.0 / step;
  EXPECT_NEAR(r.gradients[2].norm, norm / 100, 1e-12);
}

TEST_F(ResultTest, TheTargetIsReachedBetweenTwoEvaluations) {
  // At steps 50 and 100: 1.202 and 1 + 0.404 sqrt(1/2); 200 confirms. The line reaches 1.25 at the
  // share (0.25 - 0.202) / (0.2857 - 0.202) of the way.
  sweep_.target.value = 1.25;
  const Result r = load()[1];
  const double before = 0.202, after = 0.404 * std::sqrt(0.5);
  const double expected = 50 + 50 * (0.25 - before) / (after - before);
  EXPECT_NEAR(*r.steps_to_target, expected, 1e-9);
  EXPECT_NEAR(*r.seconds_to_target, 0.055 * expected, 1e-9);
}

TEST_F(ResultTest, ATargetThatIsNotReachedIsInfiniteAndOneThatMayStillBeIsUnknown) {
  sweep_.target = {"val_loss", 1};
  const auto results = load({{synthetic_run("AdamW", 1e-3, 2), "diverged", "loss is NaN"},
                             {synthetic_run("AdamW", 1e-3, 3), "unfinished", ""}});
  EXPECT_TRUE(std::isinf(*results[0].steps_to_target));
  EXPECT_TRUE(std::isinf(*results[1].steps_to_target));
  EXPECT_FALSE(results[2].steps_to_target.has_value());
}

TEST_F(ResultTest, ADivergedRunNeverReachesATargetEvenIfItWasThereBefore) {
  sweep_.target = {"val_loss", 11};
  const auto results = load({{synthetic_run("AdamW", 1e-3, 2), "diverged", "loss is NaN"}});
  EXPECT_TRUE(std::isinf(*results[1].steps_to_target));
}

TEST_F(ResultTest, EveryWayToEndHasItsNameAndReason) {
  const std::vector<std::string> kinds = {"diverged", "failed", "interrupted", "unfinished",
                                          "not started"};
  sweep_.seeds = 6;
  std::vector<SyntheticEnd> ends;
  for (size_t i = 0; i < kinds.size(); ++i) {
    ends.push_back({synthetic_run("AdamW", 1e-3, static_cast<int64_t>(i) + 1), kinds[i],
                    kinds[i] == "failed" ? "killed by signal 9" : ""});
  }
  const std::vector<Result> results = load(ends);
  for (size_t i = 0; i < kinds.size(); ++i) {
    EXPECT_EQ(results[i].outcome, kinds[i]);
    EXPECT_NE(results[i].reason, "") << kinds[i];
    EXPECT_TRUE(std::isnan(results[i].final(Split::kHeldOut, Measure::kLoss))) << kinds[i];
  }
  EXPECT_EQ(results[1].reason, "killed by signal 9");
  EXPECT_THAT(results[3].reason, HasSubstr("step 60 of 200"));
  EXPECT_TRUE(results[5].done());
}

TEST_F(ResultTest, OneBrokenFileHidesNoOtherRun) {
  const auto results = load({{synthetic_run("AdamW", 1e-3, 2), "broken", ""}});
  EXPECT_EQ(results[1].outcome, "unreadable");
  EXPECT_THAT(results[1].reason, HasSubstr("outcome.json"));
  EXPECT_TRUE(results[0].done() && results[2].done());
}

TEST_F(ResultTest, RunsThatOverlappedWereNotAloneAndWithoutEventsNobodyKnows) {
  sweep_.in_company = true;
  EXPECT_EQ(load()[0].alone, false);
  std::filesystem::remove_all(root_);
  const RunFolder folder = write_synthetic_folder(root_, sweep_);
  std::filesystem::remove(folder.events());
  EXPECT_FALSE(load_results(folder, read_plan(folder))[0].alone.has_value());
}

TEST_F(ResultTest, ARunOfTwoSegmentsIsOneCurve) {
  // Splits the finished run of seed 1 at step 100 into a parent and a child.
  sweep_.seeds = 1;
  const RunFolder folder = write_synthetic_folder(root_, sweep_);
  PlanRecord plan = read_plan(folder);
  const SegmentFolder whole(folder, plan.runs[0].segments[0]);
  const Metrics metrics = read_metrics(whole.metrics());
  PlannedSegment parent = plan.segments[0], child = plan.segments[0];
  parent.config.to_step = child.config.from_step = 100;
  parent.id = segment_id(parent.config);
  child.config.parent = parent.id;
  child.id = segment_id(child.config);
  for (const PlannedSegment& segment : {parent, child}) {
    const SegmentFolder part(folder, segment.id);
    make_folder(part.root());
    MetricsLog log(part.metrics(), 0);
    for (const StepRow& row : metrics.steps) {
      if (row.step > segment.config.from_step && row.step <= segment.config.to_step) log.add(row);
    }
    for (const EvaluationRow& row : metrics.evaluations) {
      // A segment evaluates where it starts only where nothing came before it.
      const bool begins = row.step == segment.config.from_step && segment.config.parent.empty();
      if ((begins || row.step > segment.config.from_step) && row.step <= segment.config.to_step)
        log.add(row);
    }
    log.flush();
    std::filesystem::copy_file(whole.outcome(), part.outcome());
  }
  plan.segments = {parent, child};
  plan.runs[0].segments = {parent.id, child.id};
  const Result r = load_results(folder, plan)[0];
  EXPECT_TRUE(r.done());
  EXPECT_EQ(r.held_out.size(), 4u);  // step 100 once
  EXPECT_EQ(r.steps, 200);
  EXPECT_EQ(r.tokens, 30000);
  EXPECT_NEAR(r.train_seconds, 200 * 0.055, 1e-9);

  // It is alone if no segment of it had company.
  const auto alone = [&](double end_of_other) {
    std::filesystem::remove(folder.events());
    EventLog log(folder.events());
    log.start({.segment = parent.id, .start = 100});
    log.end({.segment = parent.id, .start = 100, .end = 110, .outcome = "done"});
    log.start({.segment = child.id, .start = 120});
    log.end({.segment = child.id, .start = 120, .end = 130, .outcome = "done"});
    log.start({.segment = "another", .start = 90});
    log.end({.segment = "another", .start = 90, .end = end_of_other, .outcome = "done"});
    return load_results(folder, plan)[0].alone;
  };
  EXPECT_EQ(alone(95), true);
  EXPECT_EQ(alone(105), false);
  EXPECT_EQ(alone(125), false);

  // Without the child's folder the run is not done.
  std::filesystem::remove_all(SegmentFolder(folder, child.id).root());
  EXPECT_EQ(load_results(folder, plan)[0].outcome, "not started");
}

TEST(SeedText, IsOneNumberWhereTheSeedsAreEqual) {
  EXPECT_EQ(seed_text({3, 3, 3}), "3");
  EXPECT_EQ(seed_text({1, 2, 3}), "weights 1, data 2, noise 3");
}

}  // namespace
}  // namespace draftlab

#include "reports/study/probe.h"

#include <gmock/gmock.h>

#include "base/file.h"
#include "testing/synthetic_folder.h"

namespace draftlab {
namespace {

using ::testing::HasSubstr;

// Steps of these seconds each, in fixed shares.
Timing timing_of(const std::vector<double>& seconds, int64_t period = 1) {
  Timing timing;
  timing.period = period;
  for (double s : seconds) timing.steps.push_back({0.1 * s, 0.2 * s, 0.4 * s, 0.25 * s, 0.05 * s});
  timing.machine = {"AVX2", "cpu", "Synthetic 9000", 2, 1};
  return timing;
}

TEST(StepTime, IsTheMedianWithQuartilesAndItsPartsSumToIt) {
  const StepTime time = step_time(timing_of({3, 1, 2, 5, 100}));
  EXPECT_EQ(time.n, 5);
  EXPECT_DOUBLE_EQ(time.seconds(), 3);
  EXPECT_DOUBLE_EQ(time.low, 2);
  EXPECT_DOUBLE_EQ(time.high, 5);
  EXPECT_DOUBLE_EQ(time.parts.orthogonalization, 0.75);
  EXPECT_EQ(step_time_text(time), "3.00 s (quartiles 2.00 to 5.00, n 5)");
}

TEST(StepTime, PartsSumToTheMedianStepAlsoWhereTheirMediansDoNot) {
  Timing timing;
  timing.steps = {
      {1, 0, 0, 0, 0}, {0, 1, 0, 0, 0}, {0, 0, 0, 0, 4}, {1, 1, 0, 0, 0}, {1, 0, 0, 0, 2}};
  EXPECT_DOUBLE_EQ(step_time(timing).seconds(), 2);
}

TEST(StepTime, CountsTheRareExpensiveStepsOfAPeriod) {
  EXPECT_DOUBLE_EQ(step_time(timing_of({1, 1, 1, 9, 1, 1, 1, 9}, 4)).seconds(), 3);
  EXPECT_EQ(step_time(timing_of({1, 1, 1, 9, 1, 1, 1, 9}, 4)).n, 2);
}

class ProbeTest : public ::testing::Test {
 protected:
  ProbeTest() : root_(scratch_folder("draftlab_probe_test")) {
    std::filesystem::remove_all(root_);
    sweep_.arms = {{"AdamW", "adamw", {1e-3, 2e-3}, {1.4, 1.3}, 0.004},
                   {"Muon", "muon", {1e-2}, {1.5}, 0.02}};
    sweep_.tuning = 24;
    sweep_.target.value = 1.2;
    sweep_.in_company = true;
  }
  ~ProbeTest() override { std::filesystem::remove_all(root_); }

  // AdamW's first run has a timing of 1 s a step; Muon has none.
  std::vector<Result> load() {
    const RunFolder folder = write_synthetic_folder(root_, sweep_);
    const PlanRecord plan = read_plan(folder);
    file_ = SegmentFolder(folder, plan.runs[0].segments[0]).timing();
    write_timing(file_, timing_of({1, 1, 1.5, 0.5, 1}));
    return load_results(folder, plan);
  }

  std::filesystem::path root_, file_;
  SyntheticSweep sweep_;
};

TEST_F(ProbeTest, RunsInCompanyTakeTheirStepsTimesTheMedianStep) {
  const std::vector<Result> results = load();
  for (size_t i = 0; i < 6; ++i) {  // both rates, all seeds
    const Result& run = results[i];
    ASSERT_TRUE(run.seconds_from_probe) << run.run;
    EXPECT_NEAR(run.train_seconds, 200, 1e-9);
    EXPECT_NEAR(run.data_seconds, 20, 1e-9);
    EXPECT_NEAR(run.model_seconds, 120, 1e-9);
    EXPECT_NEAR(run.optimizer_seconds, 60, 1e-9);
    for (const auto* rows : {&run.held_out, &run.tuning}) {
      for (const EvaluationRow& row : *rows)
        EXPECT_NEAR(row.train_seconds, static_cast<double>(row.step), 1e-9);
    }
  }
  const Result& first = results[0];
  ASSERT_TRUE(first.steps_to_target && std::isfinite(*first.steps_to_target));
  EXPECT_NEAR(*first.seconds_to_target, *first.steps_to_target, 1e-9) << "a second a step";
}

TEST_F(ProbeTest, RunsWithoutATimingKeepTheSecondsTheyMeasured) {
  const Result muon = load()[6];
  EXPECT_FALSE(muon.seconds_from_probe);
  EXPECT_FALSE(muon.probe);
  EXPECT_NEAR(muon.train_seconds, 200 * 0.071, 1e-9);
}

TEST_F(ProbeTest, RunsThatWereAloneKeepTheSecondsTheyMeasured) {
  sweep_.in_company = false;
  const Result run = load()[0];
  EXPECT_TRUE(run.probe.has_value());
  EXPECT_FALSE(run.seconds_from_probe);
  EXPECT_NEAR(run.train_seconds, 200 * 0.055, 1e-9);
  EXPECT_NEAR(run.held_out.back().train_seconds, 200 * 0.055, 1e-9);
}

TEST_F(ProbeTest, ABrokenTimingMakesItsRunUnreadableAndNoOther) {
  load();
  replace_file(file_, "{\"schema\": 1}");
  const RunFolder folder(root_);
  const std::vector<Result> results = load_results(folder, read_plan(folder));
  EXPECT_EQ(results[0].outcome, "unreadable");
  EXPECT_THAT(results[0].reason, HasSubstr("timing.json"));
  EXPECT_EQ(results[1].outcome, "done");
  EXPECT_FALSE(results[1].seconds_from_probe);
}

TEST(ApplyTimings, ARunWithASwitchTakesEachStageAtItsOwnPace) {
  const auto stage = [](const char* optimizer, int64_t from, int64_t to) {
    RunStage stage;
    stage.config.optimizer = parse_optimizer_config(parse_json(optimizer, "test"), "test");
    stage.config.training.steps = 100;
    stage.config.from_step = from;
    stage.config.to_step = to;
    return stage;
  };
  Result run;
  run.alone = false;
  run.steps = 100;
  run.stages = {stage(R"({"kind": "adamw"})", 0, 40), stage(R"({"kind": "muon"})", 40, 100)};
  for (const int64_t step : {0, 20, 100}) run.held_out.push_back({.step = step});
  Timings timings;
  timings[step_identity(run.stages[0].config)] = timing_of({1});
  Result half = run;
  apply_timings(timings, half);
  EXPECT_FALSE(half.seconds_from_probe) << "one stage has no timing";
  timings[step_identity(run.stages[1].config)] = timing_of({3});
  apply_timings(timings, run);
  EXPECT_TRUE(run.seconds_from_probe);
  EXPECT_NEAR(run.train_seconds, 40 + 3 * 60, 1e-9);
  EXPECT_NEAR(run.held_out[1].train_seconds, 20, 1e-9);
  EXPECT_NEAR(run.held_out[2].train_seconds, 220, 1e-9);
}

// Twenty samples around these forward seconds, a share of them apart.
NamedTiming with_forward(const std::string& name, double seconds, double spread) {
  NamedTiming one{name, {}};
  for (int i = 0; i < 20; ++i)
    one.timing.steps.push_back({0.001, seconds * (1 + spread * (i - 9.5) / 19), 0.2, 0, 0.01});
  return one;
}

TEST(Control, ForwardPassesFurtherApartThanTheirQuartilesTellOfABusyMachine) {
  // 63 and 150 ms were once published as the equal forward pass of two arms.
  EXPECT_EQ(uneven_control({with_forward("A", 0.063, 0.05), with_forward("B", 0.150, 0.05)}),
            "the forward pass, which is the same work, took 0.0630 s for A and 0.150 s for B");
  EXPECT_EQ(uneven_control({with_forward("A", 0.1, 0.05), with_forward("B", 0.1015, 0.05)}), "");
  EXPECT_EQ(uneven_control({with_forward("A", 0.1, 0.4), with_forward("B", 0.115, 0.05)}), "")
      << "within the quartiles of the noisier one";
  EXPECT_EQ(uneven_control({with_forward("A", 0.1, 0), with_forward("B", 0.1019, 0)}), "");
  EXPECT_NE(uneven_control({with_forward("A", 0.1, 0), with_forward("B", 0.1021, 0)}), "");
  EXPECT_NE(uneven_control(
                {with_forward("A", 0.1, 0), with_forward("B", 0.1, 0), with_forward("C", 0.12, 0)}),
            "");
  EXPECT_EQ(uneven_control({with_forward("A", 0.1, 0)}), "");
}

}  // namespace
}  // namespace draftlab

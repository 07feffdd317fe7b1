#include "runner/tuning.h"

#include <gmock/gmock.h>

#include <cmath>
#include <map>

#include "record/metrics.h"
#include "record/outcome.h"
#include "runner/difference.h"
#include "testing/example_sweep.h"

namespace draftlab {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

using Changes = std::vector<std::pair<std::string, std::string>>;

// One AdamW arm with three rates, tuned on two seeds.
Sweep tuned_sweep(const Changes& more = {}) {
  Changes changes = {
      {"/split", R"({"train": 6, "tuning": 2, "held_out": 2})"},
      {"/seeds", "[1, 2, 3]"},
      {"/tuning", R"({"seeds": [11, 12], "extend": 2})"},
      {"/arms/0/optimizer", R"({"kind": "adamw", "learning_rate": [1e-3, 2e-3, 4e-3]})"}};
  changes.insert(changes.end(), more.begin(), more.end());
  return example_sweep(changes);
}

using Means = std::map<std::string, double>;

// The trials of the arm "adamw" with these means, by rate; NaN: both runs diverged.
std::vector<ArmTrials> trials_of(const Means& means) {
  ArmTrials arm{"adamw", {}};
  for (const auto& [point, mean] : means)
    arm.scores.push_back({point, std::isnan(mean) ? 0 : 2, std::isnan(mean) ? 2 : 0, mean});
  return {arm};
}

std::vector<std::string> runs_of(const std::optional<PlanRecord>& phase) {
  std::vector<std::string> names;
  if (!phase) return names;
  for (const PlannedRun& run : phase->runs) names.push_back(run.phase + ": " + run.name);
  return names;
}

std::vector<std::string> next(const Sweep& sweep, const Means& means) {
  return runs_of(next_phase(sweep, example_store(), trials_of(means)));
}

TEST(Tuning, TheFirstPhaseRunsEveryPointOnTheTuningSeedsOnly) {
  const PlanRecord plan = make_plan(tuned_sweep(), example_store());
  ASSERT_EQ(plan.runs.size(), 6u);
  EXPECT_EQ(plan.runs[0].name, "adamw lr=0.001 seed=11");
  for (const PlannedRun& run : plan.runs) EXPECT_EQ(run.phase, kTrial);
}

TEST(Tuning, ABestPointInsideOfItsGridRunsWithEveryFreshSeed) {
  EXPECT_THAT(next(tuned_sweep(), {{"lr=0.001", 1.2}, {"lr=0.002", 1.4}, {"lr=0.004", 1.3}}),
              ElementsAre("final: adamw lr=0.002 seed=1", "final: adamw lr=0.002 seed=2",
                          "final: adamw lr=0.002 seed=3"));
}

TEST(Tuning, ABestPointOnAnEdgeExtendsTheGridByItsOwnRatioAtEitherEnd) {
  EXPECT_THAT(next(tuned_sweep(), {{"lr=0.001", 1.5}, {"lr=0.002", 1.4}, {"lr=0.004", 1.3}}),
              ElementsAre("trial: adamw lr=5e-04 seed=11", "trial: adamw lr=5e-04 seed=12"));
  EXPECT_THAT(next(tuned_sweep(), {{"lr=0.001", 1.2}, {"lr=0.002", 1.4}, {"lr=0.004", 1.5}}),
              ElementsAre("trial: adamw lr=0.008 seed=11", "trial: adamw lr=0.008 seed=12"));
}

TEST(Tuning, AnExtensionStaysWithinWhatAnOptionMayBe) {
  const Sweep sweep =
      tuned_sweep({{"/arms/0/optimizer", R"({"kind": "adamw", "learning_rate": [0.5, 5]})"}});
  const auto phase =
      next_phase(sweep, example_store(), trials_of({{"lr=0.5", 1.2}, {"lr=5", 1.4}}));
  EXPECT_EQ(runs_of(phase)[0], "trial: adamw lr=10 seed=11");
  EXPECT_TRUE(phase->decisions[0].limited);
  EXPECT_THAT(text_of(phase->decisions[0]),
              HasSubstr("lr=10 is tried, beyond which the option must not go"));
  EXPECT_THAT(next(sweep, {{"lr=0.5", 1.2}, {"lr=5", 1.4}, {"lr=10", 1.5}})[0],
              "final: adamw lr=10 seed=1");
}

TEST(Tuning, ExtensionsEndWhereTheBestIsInsideOrTheLimitIsReached) {
  Means means = {{"lr=0.001", 1.2}, {"lr=0.002", 1.4}, {"lr=0.004", 1.5}, {"lr=0.008", 1.45}};
  EXPECT_THAT(next(tuned_sweep(), means)[0], "final: adamw lr=0.004 seed=1");
  means["lr=0.008"] = 1.6;
  EXPECT_THAT(next(tuned_sweep(), means)[0], "trial: adamw lr=0.016 seed=11");
  means["lr=0.016"] = 1.7;
  EXPECT_THAT(next(tuned_sweep(), means)[0], "final: adamw lr=0.016 seed=1");
}

TEST(Tuning, LossIsBestWhereItIsLeastAndDivergedRunsComeLast) {
  const Sweep by_loss = tuned_sweep({{"/target", R"({"metric": "val_loss", "value": 5})"}});
  EXPECT_THAT(next(by_loss, {{"lr=0.001", 5}, {"lr=0.002", 4}, {"lr=0.004", 6}})[0],
              "final: adamw lr=0.002 seed=1");
  // The lowest mean is that of a point with a diverged run.
  std::vector<ArmTrials> trials = trials_of({{"lr=0.001", 5}, {"lr=0.002", 4.5}, {"lr=0.004", 4}});
  trials[0].scores[2].diverged = 1;
  EXPECT_THAT(runs_of(next_phase(by_loss, example_store(), trials))[0],
              "final: adamw lr=0.002 seed=1");
}

TEST(Tuning, ANaNIsNeverBestAndAnArmWithoutAnyNumberHasNoFinalRun) {
  EXPECT_THAT(next(tuned_sweep(), {{"lr=0.001", 1.1}, {"lr=0.002", 1.2}, {"lr=0.004", NAN}})[0],
              "final: adamw lr=0.002 seed=1");
  EXPECT_THAT(next(tuned_sweep(), {{"lr=0.001", NAN}, {"lr=0.002", NAN}, {"lr=0.004", NAN}}),
              IsEmpty());
}

TEST(Tuning, TheDecisionHasTheNumbersThatDecided) {
  const auto phase =
      next_phase(tuned_sweep(), example_store(),
                 trials_of({{"lr=0.001", 1.2}, {"lr=0.002", 1.4}, {"lr=0.004", 1.5}}));
  ASSERT_EQ(phase->decisions.size(), 1u);
  const TuningDecision& decision = phase->decisions[0];
  EXPECT_EQ(decision.metric, "acceptance_length");
  EXPECT_EQ(decision.best, "lr=0.004");
  EXPECT_EQ(decision.extended, "lr=0.008");
  EXPECT_EQ(decision.trials.size(), 3u);
  EXPECT_EQ(text_of(decision),
            "adamw: lr=0.004 is best of 3, acceptance_length 1.500 on the tuning split; it lies on "
            "the edge, so lr=0.008 is tried");
}

TEST(Tuning, TheLossBreaksATieOnTheMetricAndTheDecisionSaysSo) {
  std::vector<ArmTrials> trials =
      trials_of({{"lr=0.001", 1.2}, {"lr=0.002", 1.4}, {"lr=0.004", 1.4}});
  trials[0].scores[1].loss = 3.25;
  trials[0].scores[2].loss = 3.5;
  auto phase = next_phase(tuned_sweep(), example_store(), trials);
  EXPECT_THAT(runs_of(phase)[0], "final: adamw lr=0.002 seed=1");
  EXPECT_EQ(text_of(phase->decisions[0]),
            "adamw: lr=0.002 is best of 3, acceptance_length 1.400 on the tuning split, as has 1 "
            "more: the lower loss decides, 3.25");
  std::swap(trials[0].scores[1].loss, trials[0].scores[2].loss);
  phase = next_phase(tuned_sweep({{"/tuning/extend", "0"}}), example_store(), trials);
  EXPECT_THAT(runs_of(phase)[0], "final: adamw lr=0.004 seed=1");
}

TEST(Tuning, TheFirstPointIsTakenWhereNothingTellsThePointsApart) {
  std::vector<ArmTrials> trials = trials_of({{"lr=0.001", 1}, {"lr=0.002", 1}, {"lr=0.004", 1}});
  for (TrialScore& score : trials[0].scores) score.loss = 4;
  const auto phase = next_phase(tuned_sweep({{"/tuning/extend", "0"}}), example_store(), trials);
  EXPECT_THAT(runs_of(phase)[0], "final: adamw lr=0.001 seed=1");
  EXPECT_THAT(text_of(phase->decisions[0]),
              HasSubstr("as have all of them: nothing tells them apart, and the first is taken"));
}

TEST(Tuning, TheLossesOfATieAreFrozenWithTheDecisionAndNoOthers) {
  for (const double third : {1.4, 1.3}) {
    const ScratchFolder scratch;
    const RunFolder folder(scratch.path());
    const Sweep sweep = tuned_sweep({{"/tuning/extend", "0"}});
    PlanRecord plan = make_plan(sweep, example_store());
    write_plan(folder.plan(), plan);
    std::vector<ArmTrials> trials =
        trials_of({{"lr=0.001", 1.2}, {"lr=0.002", 1.4}, {"lr=0.004", third}});
    for (TrialScore& score : trials[0].scores) score.loss = 4;
    write_next_phase(folder, *next_phase(sweep, example_store(), trials), plan);
    const TuningDecision read = read_plan(folder).decisions[0];
    EXPECT_EQ(read.best, "lr=0.002");
    EXPECT_EQ(read.trials[1].loss == 4, third == 1.4);
    EXPECT_EQ(text_of(read), text_of(plan.decisions[0]));
  }
}

TEST(Tuning, OnlyTheLearningRateIsExtendedAndInTheRowOfTheBestPoint) {
  const Sweep sweep = tuned_sweep(
      {{"/arms/0/optimizer",
        R"({"kind": "adamw", "learning_rate": [1e-3, 2e-3, 4e-3], "weight_decay": [0, 0.1]})"}});
  Means means;
  for (const char* rate : {"0.001", "0.002", "0.004"}) {
    for (const char* decay : {"0", "0.1"})
      means["lr=" + std::string(rate) + " weight_decay=" + decay] = 1.2;
  }
  means["lr=0.004 weight_decay=0.1"] = 1.5;
  EXPECT_THAT(next(sweep, means)[0], "trial: adamw lr=0.008 weight_decay=0.1 seed=11");
  means["lr=0.002 weight_decay=0.1"] = 1.6;  // inside by rate, at the edge by decay
  EXPECT_THAT(next(sweep, means)[0], "final: adamw lr=0.002 weight_decay=0.1 seed=1");
}

TEST(Tuning, UnequalGridsSharedSeedsAndAMissingTuningSplitAreRefused) {
  const auto refused = [](const Changes& changes) {
    return message_of([&] { tuned_sweep(changes); });
  };
  EXPECT_THAT(refused({{"/arms/1", R"({"name": "muon", "optimizer": {"kind": "muon"}})"}}),
              HasSubstr("arms[1].optimizer: has 1 settings to try, 'adamw' has 3"));
  EXPECT_THAT(refused({{"/tuning/seeds", "[3]"}}), HasSubstr("tuning.seeds[0]: is one of"));
  EXPECT_THAT(refused({{"/split", R"({"train": 8, "held_out": 2})"}}),
              HasSubstr("tuning: needs sequences to choose on"));
}

TEST(Tuning, OtherFinalSeedsOrAnotherLimitAreAnotherPlanThoughTheTrialsAreTheSame) {
  const PlanRecord frozen = make_plan(tuned_sweep(), example_store());
  const auto differences = [&](const Changes& changes) {
    return text_of(find_differences(frozen, make_plan(tuned_sweep(changes), example_store())));
  };
  EXPECT_EQ(differences({}), "");
  EXPECT_EQ(differences({{"/seeds", "[1, 2, 4]"}}), "  seeds: [1,2,3] -> [1,2,4]\n");
  EXPECT_EQ(differences({{"/tuning/extend", "1"}}), "  tuning.extend: 2 -> 1\n");
}

TEST(Tuning, TrialsAreReadFromTheLastStepOfTheTuningSplitByTheMetricOfTheTarget) {
  const ScratchFolder scratch;
  const RunFolder folder(scratch.path());
  PlanRecord plan = make_plan(tuned_sweep(), example_store());
  for (size_t i = 0; i < plan.runs.size(); ++i) {
    const SegmentFolder segment(folder, plan.runs[i].segments[0]);
    std::filesystem::create_directories(segment.root());
    MetricsLog log(segment.metrics(), 0);
    for (const int64_t step : {50, 100}) {
      for (const char* split : {"held_out", "tuning"}) {
        EvaluationRow row;
        row.step = step;
        row.split = split;
        row.acceptance_length =
            1 + static_cast<double>(i) + (row.split == "tuning" && step == 100 ? 0.5 : 100);
        row.loss = 10 * row.acceptance_length;
        log.add(row);
      }
    }
    log.flush();
    const bool diverged = i == 5;
    write_outcome(segment.outcome(),
                  {.kind = diverged ? OutcomeKind::kDiverged : OutcomeKind::kDone, .step = 100});
  }
  const std::vector<ArmTrials> trials = read_trials(folder, plan);
  ASSERT_EQ(trials.size(), 1u);
  ASSERT_EQ(trials[0].scores.size(), 3u);
  EXPECT_EQ(trials[0].scores[0].point, "lr=0.001");
  EXPECT_DOUBLE_EQ(trials[0].scores[0].mean, 2);  // of 1.5 and 2.5
  EXPECT_DOUBLE_EQ(trials[0].scores[0].loss, 20);
  EXPECT_DOUBLE_EQ(trials[0].scores[2].mean, 5.5);
  EXPECT_EQ(trials[0].scores[2].diverged, 1);
  plan.target = {"val_loss", 3};
  EXPECT_DOUBLE_EQ(read_trials(folder, plan)[0].scores[0].mean, 20);
  EXPECT_DOUBLE_EQ(read_trials(folder, plan)[0].scores[2].mean, 55);
}

TEST(Sweep, AnArmMayTrainForAnotherNumberOfStepsWithTheEvaluationsThatFit) {
  const Sweep sweep =
      example_sweep({{"/arms/1", R"({"name": "short", "optimizer": {"kind": "adamw"},
                       "training": {"steps": 70, "warmup": 0.5}})"},
                     {"/arms/2", R"({"name": "shortest", "optimizer": {"kind": "adamw"},
                       "training": {"steps": 20}})"}});
  EXPECT_THAT(sweep.arms[0].evaluation.steps, ElementsAre(0, 50, 100));
  EXPECT_THAT(sweep.arms[1].evaluation.steps, ElementsAre(0, 50, 70));
  EXPECT_EQ(sweep.arms[1].training.warmup, 0.5);
  EXPECT_EQ(sweep.arms[1].training.anchors, sweep.arms[0].training.anchors);
  EXPECT_THAT(sweep.arms[2].evaluation.steps, ElementsAre(0, 20));
  const PlanRecord plan = make_plan(sweep, example_store());
  EXPECT_EQ(plan.segments[1].config.to_step, 70);
  EXPECT_THAT(message_of([] {
                example_sweep({{"/arms/0/training", R"({"step": 3})"}});
              }),
              HasSubstr("arms[0].training.step"));
}

}  // namespace
}  // namespace draftlab

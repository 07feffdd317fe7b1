#include "reports/fairness.h"

#include <gmock/gmock.h>

#include <cmath>
#include <set>

#include "reports/checks.h"

namespace draftlab {
namespace {

using ::testing::AllOf;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

DrafterConfig drafter() {
  DrafterConfig config;
  config.hidden_size = 64;
  config.intermediate_size = 96;
  config.num_attention_heads = config.num_key_value_heads = 4;
  config.head_dim = 16;
  config.layer_types = {"full_attention"};
  config.block_size = 4;
  config.vocab_size = config.draft_vocab_size = 128;
  config.num_taps = 3;
  return config;
}

// A finished run of 100 steps that gives no check a reason to speak.
Result run_of(const std::string& arm, const std::string& kind, double rate, int64_t seed,
              double length) {
  Result r;
  r.arm = arm;
  r.run = arm + " lr=" + std::to_string(rate) + " seed=" + std::to_string(seed);
  JsonObject optimizer{{"kind", kind}, {"learning_rate", rate}, {"weight_decay", 0}};
  r.optimizer = r.config.optimizer = parse_optimizer_config(optimizer, "test");
  r.seeds = r.config.seeds = {seed, seed, seed};
  r.segments = {r.run};
  r.config.drafter = drafter();
  r.config.training.steps = 100;
  r.config.evaluation.steps = {0, 50, 100};
  r.config.split = {200, 20, 40};
  r.config.store = "store";
  r.config.routing = route(parameter_shapes(r.config.drafter), r.optimizer, {}, "test");
  r.outcome = "done";
  r.steps = 100;
  r.tokens = 10000;
  r.train_seconds = 10;
  r.data_seconds = 0.1;
  r.model_seconds = 9;
  r.optimizer_seconds = 0.9;
  r.weights_hash = r.run;
  r.alone = true;
  for (int64_t step : r.config.evaluation.steps) {
    EvaluationRow row;
    row.step = step;
    row.split = "held_out";
    row.tokens = 100 * step;
    row.train_seconds = 0.1 * static_cast<double>(step);
    const double progress = std::sqrt(static_cast<double>(step) / 100);
    row.acceptance_length = 1 + (length - 1) * progress;
    row.loss = 10 - 2 * length * progress;
    row.blocks = 400;
    row.prompts = 40;
    row.data_hash = std::to_string(seed) + "/" + std::to_string(step);
    if (step == 100) row.prompt_blocks = row.prompt_matches = std::vector<int64_t>(40, 10);
    r.held_out.push_back(row);
    row.split = "tuning";
    r.tuning.push_back(row);
    if (step > 0) {
      r.updates.push_back({step, "self_attn.q_proj", kind, 1e-4, 0.1});
      r.gradients.push_back({step, 1, 0, 1});
    }
  }
  r.baselines = Baselines{1.1, 1.1, 400, 40, "weights " + std::to_string(seed), 0};
  r.provenance = {{"commit", "abc"}, {"libtorch", "2.11.0"}, {"cpu", "X"}, {"threads", 1}};
  return r;
}

// Two arms, three rates, the middle one best; trials with seeds 1 to 3, the best with 4 to 6 too.
class FairnessTest : public ::testing::Test {
 protected:
  FairnessTest() {
    study_.plan.target = {"acceptance_length", 1.2};
    study_.plan.sweep =
        JsonObject{{"arms", JsonArray{JsonObject{{"name", "AdamW"},
                                                 {"optimizer", JsonObject{{"kind", "adamw"},
                                                                          {"learning_rate", 0.001},
                                                                          {"weight_decay", 0}}}},
                                      JsonObject{{"name", "Muon"},
                                                 {"optimizer", JsonObject{{"kind", "muon"},
                                                                          {"learning_rate", 0.001},
                                                                          {"weight_decay", 0}}}}}}};
    for (const char* kind : {"adamw", "muon"}) {
      const std::string arm = kind == std::string("adamw") ? "AdamW" : "Muon";
      const double better = arm == "Muon" ? 0.1 : 0;
      for (int64_t seed = 4; seed <= 6; ++seed) {
        add(arm, kind, 0.001, seed, 1.3 + better + 0.001 * static_cast<double>(seed));
      }
    }
  }
  void add(const std::string& arm, const std::string& kind, double rate, int64_t seed,
           double length) {
    study_.results.push_back(run_of(arm, kind, rate, seed, length));
  }
  // Rates half and twice the best, tried with other seeds than the reported ones.
  void add_trials(const std::string& arm, const std::string& kind,
                  std::vector<double> rates = {0.0005, 0.002}) {
    for (double rate : rates) add(arm, kind, rate, 1, 1.1 + rate);
  }
  Result& run(const std::string& arm, size_t i) {
    for (Result& result : study_.results) {
      if (result.arm == arm && i-- == 0) return result;
    }
    throw std::out_of_range(arm);
  }
  // After the times to the target, which load_results finds, of all that the test changed.
  const Study& study() {
    for (Result& r : study_.results) {
      if (study_.plan.target.metric.empty()) continue;
      r.steps_to_target = r.diverged()
                              ? INFINITY
                              : first_crossing(r.curve(Measure::kAcceptanceLength, Clock::kSteps),
                                               study_.plan.target.value, false);
      r.tokens_to_target = *r.steps_to_target * 100;
      r.seconds_to_target = *r.steps_to_target / 10;
    }
    study_.summary = summarize(study_.results, study_.plan.target);
    study_.findings = check(study_);
    return study_;
  }
  Findings of(const std::string& id) {
    Findings findings;
    for (const FairnessFinding& finding : study().findings) {
      if (finding.id == id) findings.push_back(finding);
    }
    return findings;
  }

  Study study_;
};

auto finding(Severity severity, const std::string& part) {
  return AllOf(Field(&FairnessFinding::severity, severity),
               Field(&FairnessFinding::sentence, HasSubstr(part)));
}
auto finding(Severity severity, const std::string& part, const std::string& other) {
  return AllOf(finding(severity, part), Field(&FairnessFinding::sentence, HasSubstr(other)));
}
constexpr auto kRefuse = Severity::kRefuse;
constexpr auto kWarn = Severity::kWarn;
constexpr auto kInform = Severity::kInform;

TEST(CheckKinds, AreThirtyFiveInOrderWithAFunctionOrAReason) {
  ASSERT_THAT(check_kinds(), SizeIs(35));
  for (size_t i = 0; i < 35; ++i) {
    const CheckKind& kind = check_kinds()[i];
    EXPECT_EQ(kind.id, (i < 9 ? "F0" : "F") + std::to_string(i + 1));
    EXPECT_EQ(kind.run == nullptr, !kind.excluded.empty()) << kind.id;
    EXPECT_FALSE(kind.question.empty());
  }
}

TEST_F(FairnessTest, AFairStudyOfOneBudgetIsToldThatAndNothingElse) {
  ASSERT_THAT(study().findings, SizeIs(1));
  EXPECT_EQ(study_.findings[0].id, "F34");
  EXPECT_THAT(counts_text(study_.findings), "0 refuse a winner, 0 warn, 1 informs");
}

TEST_F(FairnessTest, AFairTunedStudyIsToldNoMore) {
  add_trials("AdamW", "adamw");
  add_trials("Muon", "muon", {0.0004, 0.003});
  EXPECT_THAT(of("F07"), IsEmpty());
  for (const FairnessFinding& f : study_.findings) EXPECT_EQ(f.id, "F34") << f.sentence;
}

TEST_F(FairnessTest, TrialsAreNoReportedRunsAndTheirGridIsStillChecked) {
  for (Result& r : study_.results) r.phase = kFinal;
  for (const char* arm : {"AdamW", "Muon"}) {
    const std::string kind = arm == std::string("AdamW") ? "adamw" : "muon";
    for (const double rate : {0.0005, 0.001, 0.002}) {
      add(arm, kind, rate, 1, (rate == 0.001 ? 1.5 : 1.1 + rate) + (kind == "muon" ? 0.01 : 0));
      study_.results.back().phase = kTrial;
    }
  }
  for (const FairnessFinding& f : study().findings) EXPECT_EQ(f.id, "F34") << f.sentence;
  study_.results.back().held_out.back().acceptance_length = 1.6;
  study_.results.back().tuning.back().acceptance_length = 1.6;
  EXPECT_THAT(of("F03"), ElementsAre(finding(kWarn, "best setting of Muon (learning_rate 0.002)")));
}

TEST_F(FairnessTest, ArmsThatShareWhatOthersDoNotMayBeComparedWithEachOther) {
  for (int64_t seed = 4; seed <= 6; ++seed) {
    for (const char* arm : {"AdamW, long", "Muon, long"}) {
      add(arm, arm == std::string("AdamW, long") ? "adamw" : "muon", 0.001, seed, 1.3);
      study_.results.back().config.training.warmup = 0.5;
    }
  }
  const Findings findings = of("F12");
  ASSERT_THAT(findings, SizeIs(1));
  const auto refused = [&](const char* a, const char* b) {
    return refuses(findings[0], a, b, false);
  };
  EXPECT_FALSE(refused("AdamW", "Muon"));
  EXPECT_FALSE(refused("Muon, long", "AdamW, long"));
  EXPECT_TRUE(refused("AdamW", "AdamW, long"));
  EXPECT_TRUE(refused("Muon, long", "AdamW"));
  EXPECT_TRUE(refused("Muon, long", "Muon, long"));  // out of the comparison of all
}

TEST_F(FairnessTest, AFolderWithoutAResultAndAnEmptyOneCanBeChecked) {
  for (Result& r : study_.results) {
    Result empty;
    empty.run = r.run;
    empty.arm = r.arm;
    empty.optimizer = r.optimizer;
    empty.seeds = r.seeds;
    empty.config = r.config;
    r = empty;
  }
  EXPECT_THAT(of("F13"), ElementsAre(finding(kWarn, "6 runs of 6 have no result")));
  study_.results.clear();
  study_.summary = summarize(study_.results, {});
  EXPECT_NO_THROW(check(study_));
}

TEST_F(FairnessTest, OldFoldersAreToldWhatIsNotKnown) {
  for (Result& r : study_.results) {
    for (EvaluationRow& row : r.held_out) {
      row.data_hash.clear();
      row.prompt_blocks.clear();
      row.prompt_matches.clear();
    }
    r.baselines->initial_weights_hash.clear();
    r.baselines->duplicates = -1;
    r.updates.clear();
    r.alone.reset();
  }
  std::set<std::string> ids;
  for (const FairnessFinding& f : study().findings) {
    EXPECT_EQ(f.severity, kInform) << f.sentence;
    ids.insert(f.id);
  }
  EXPECT_THAT(ids, ElementsAre("F08", "F10", "F20", "F26", "F30", "F34", "F35"));
}

TEST_F(FairnessTest, F01UnequalNumbersOfTrials) {
  add_trials("AdamW", "adamw");
  add_trials("Muon", "muon", {0.002});
  EXPECT_THAT(of("F01"), ElementsAre(finding(kWarn, "2 settings of Muon; 3 settings of AdamW")));
  study_.results.pop_back();
  EXPECT_THAT(of("F01"), ElementsAre(finding(kRefuse, "1 setting of Muon; 3 settings of AdamW")));
  for (const int64_t seed : {4, 5, 6}) add("Lion", "lion", 0.001, seed, 1.2);
  const Findings findings = of("F01");
  EXPECT_TRUE(refuses(findings[0], "AdamW", "Lion", false));
  EXPECT_FALSE(refuses(findings[0], "Muon", "Lion", false)) << "one setting each";
  study_.results.resize(study_.results.size() - 3);
  // A setting without a result is no trial.
  add("Muon", "muon", 0.002, 1, 1.1);
  study_.results.back().outcome = "failed";
  EXPECT_THAT(of("F01"), ElementsAre(finding(kRefuse, "1 setting of Muon")));
}

TEST_F(FairnessTest, F01UnequalTrainingTime) {
  for (size_t i = 0; i < 3; ++i) {
    run("Muon", i).train_seconds = 30;
    run("Muon", i).held_out.back().train_seconds = 30;
  }
  EXPECT_THAT(of("F01"),
              ElementsAre(finding(kInform, "All runs of Muon together trained for 90.0 s",
                                  "those of AdamW for 30.0 s")));
}

TEST_F(FairnessTest, F02UnequalSearchSpaces) {
  add_trials("AdamW", "adamw", {0.00001, 0.002});
  add_trials("Muon", "muon");
  EXPECT_THAT(of("F02"), ElementsAre(finding(kWarn,
                                             "tried for AdamW span 2.3 decades, those for "
                                             "Muon 0.6")));
}

TEST_F(FairnessTest, F02AnOptionTunedForOneArmAlone) {
  add_trials("AdamW", "adamw");
  add_trials("Muon", "muon");
  EXPECT_THAT(of("F02"), IsEmpty());
  add("AdamW", "adamw", 0.0005, 2, 1.1);
  study_.results.back().optimizer = parse_optimizer_config(
      JsonObject{{"kind", "adamw"}, {"learning_rate", 0.001}, {"weight_decay", 0.1}}, "test");
  EXPECT_THAT(of("F02"), ElementsAre(finding(kWarn,
                                             "Weight_decay was tuned for AdamW but not for "
                                             "Muon")));
}

TEST_F(FairnessTest, F03ABestValueAtTheEdge) {
  add_trials("AdamW", "adamw", {0.0002, 0.0005});
  EXPECT_THAT(of("F03"),
              ElementsAre(finding(kWarn, "best setting of AdamW (learning_rate 0.001)",
                                  "edge of its grid in learning_rate (tried 2e-04 to 0.001)")));
}

TEST_F(FairnessTest, F04ACoarseGrid) {
  add_trials("AdamW", "adamw", {0.0001, 0.002, 0.1});
  EXPECT_THAT(of("F04"), ElementsAre(finding(kInform,
                                             "Next to the best learning rate of AdamW, "
                                             "0.001, the grid goes on only at 1e-04,")));
}

TEST_F(FairnessTest, F05ABestRateBelowDivergence) {
  add_trials("AdamW", "adamw");
  study_.results.back().outcome = "diverged";  // 0.002
  EXPECT_THAT(of("F05"), ElementsAre(finding(kInform,
                                             "Every learning rate of AdamW above the best "
                                             "one, 0.001, has diverged runs")));
  study_.results.back().outcome = "done";
  EXPECT_THAT(of("F05"), IsEmpty());
}

TEST_F(FairnessTest, F06TrialsThatAreReported) {
  for (double rate : {0.0005, 0.002}) add("AdamW", "adamw", rate, 4, 1.1);
  EXPECT_THAT(of("F06"), ElementsAre(finding(kWarn, "reported runs of AdamW are the trials",
                                             "best of 3, sd 0.0010 over seeds")));
  for (Result& r : study_.results) r.config.split.tuning = 0;
  EXPECT_THAT(of("F06"),
              ElementsAre(finding(kWarn, "AdamW were chosen on the same held-out data")));
}

TEST_F(FairnessTest, F07FewSeeds) {
  std::erase_if(study_.results,
                [](const Result& r) { return r.arm == "Muon" && r.seeds.data == 6; });
  const Findings findings = of("F07");
  EXPECT_THAT(findings, ElementsAre(finding(kRefuse, "Fewer than three finished seeds: Muon (2)"),
                                    finding(kWarn, "seeds 4, 5 and 6", "seeds 4 and 5")));
  EXPECT_THAT(findings[0].arms, ElementsAre("Muon"));
}

TEST_F(FairnessTest, F08UnequalData) {
  run("Muon", 1).held_out[1].data_hash = "other";
  run("Muon", 1).held_out[2].data_hash = "other";
  const Findings findings = of("F08");
  EXPECT_THAT(findings, ElementsAre(finding(kRefuse, run("Muon", 1).run,
                                            "at step 50 as " + run("AdamW", 1).run)));
  EXPECT_THAT(findings[0].arms, ElementsAre("Muon"));
}

TEST_F(FairnessTest, F08UnequalTokensWhereThereIsNoHash) {
  for (Result& r : study_.results) {
    for (EvaluationRow& row : r.held_out) row.data_hash.clear();
  }
  run("Muon", 0).held_out[2].tokens += 1;
  EXPECT_THAT(of("F08"), ElementsAre(finding(kRefuse, run("Muon", 0).run, "at step 100"),
                                     finding(kInform, "For 6 runs of an older version")));
}

TEST_F(FairnessTest, F09UnequalStoresAndDrafters) {
  run("Muon", 2).config.store = "another";
  run("Muon", 2).config.drafter.block_size = 8;
  EXPECT_THAT(of("F09"),
              ElementsAre(finding(kRefuse, "Block_size differs: 4 in 5 runs such as AdamW",
                                  "and 8 in Muon"),
                          finding(kRefuse, "Store differs: store in 5 runs")));
}

TEST_F(FairnessTest, F10UnequalInitialWeights) {
  run("Muon", 0).baselines->initial_weights_hash = "others";
  EXPECT_THAT(of("F10"), ElementsAre(finding(kWarn, run("Muon", 0).run, run("AdamW", 0).run)));
  run("Muon", 0) = run_of("Muon", "muon", 0.001, 4, 1.404);
  EXPECT_THAT(of("F10"), IsEmpty());
  run("Muon", 0).held_out[0].loss += 1e-9;
  EXPECT_THAT(of("F10"), ElementsAre(finding(kWarn, "did not start from the same weights")));
}

TEST_F(FairnessTest, F11UnequalTraining) {
  for (size_t i = 0; i < 3; ++i) run("Muon", i).config.training.clip = 0.5;
  const Findings findings = of("F11");
  EXPECT_THAT(findings, ElementsAre(finding(kRefuse, "Clip differs: 1 in 3 runs such as AdamW",
                                            "0.5 in 3 runs such as Muon")));
  EXPECT_THAT(findings[0].arms, ElementsAre("Muon"));
}

TEST_F(FairnessTest, F12UnequalSchedules) {
  run("Muon", 0).config.training.warmup = 0.5;
  EXPECT_THAT(of("F12"), ElementsAre(finding(kRefuse, "Warm-up differs: 0.04 in 5 runs")));
}

TEST_F(FairnessTest, F12ReadInTheMiddleOfASchedule) {
  for (size_t i = 0; i < 3; ++i) {
    for (EvaluationRow& row : run("Muon", i).held_out) row.train_seconds *= 2;
    run("Muon", i).train_seconds *= 2;
  }
  const Findings findings = of("F12");
  EXPECT_THAT(findings, ElementsAre(finding(kRefuse, "Muon at about step 50 of 100")));
  EXPECT_TRUE(findings[0].by_time_only);
  EXPECT_FALSE(refuses(findings[0], "AdamW", "Muon", false));
  EXPECT_TRUE(refuses(findings[0], "AdamW", "Muon", true));
  for (Result& r : study_.results) r.config.training.schedule = "constant";
  EXPECT_THAT(of("F12"), IsEmpty());
}

TEST_F(FairnessTest, F13RunsCutShortAndRunsWithoutAResult) {
  run("Muon", 0).held_out.pop_back();
  run("AdamW", 0).outcome = "failed";
  EXPECT_THAT(of("F13"), ElementsAre(finding(kRefuse, run("Muon", 0).run, "step 100 of 100"),
                                     finding(kWarn, "1 run of 6 has no result")));
}

TEST_F(FairnessTest, F15UnequalNumbersOfEvaluations) {
  for (size_t i = 0; i < 3; ++i) {
    auto& rows = run("Muon", i).held_out;
    rows.erase(rows.begin() + 1);
  }
  EXPECT_THAT(of("F15"),
              ElementsAre(finding(kWarn, "3 evaluations in 3 runs", "2 evaluations in")));
}

TEST_F(FairnessTest, F16UnequalEvaluations) {
  run("Muon", 0).config.evaluation.stride = 2;
  for (EvaluationRow& row : run("Muon", 1).held_out) row.blocks = 500;
  run("Muon", 2).held_out[1].prompts = 39;
  EXPECT_THAT(of("F16"), ElementsAre(finding(kRefuse, "Evaluation stride differs: 4 in 5 runs"),
                                     finding(kRefuse, "Evaluated blocks differs: 400 in 5 runs"),
                                     finding(kRefuse, "evaluations of " + run("Muon", 2).run)));
}

TEST_F(FairnessTest, F18UnequalMachines) {
  run("Muon", 0).provenance["cpu"] = "Y";
  const Findings findings = of("F18");
  EXPECT_THAT(findings, ElementsAre(finding(kWarn, "Cpu differs: X in 5 runs", "Y in Muon")));
  EXPECT_TRUE(findings[0].by_time_only);
  EXPECT_THAT(of("F27"), IsEmpty());
}

TEST_F(FairnessTest, F19AClockWithMoreOnItThanSteps) {
  run("Muon", 0).held_out.back().train_seconds = 12;
  EXPECT_THAT(of("F19"), ElementsAre(finding(kWarn, "is stamped 12.0 s", "took 10.0 s")));
}

TEST_F(FairnessTest, F19StepsThatWaitForData) {
  for (size_t i = 0; i < 3; ++i) run("Muon", i).data_seconds = 3;
  EXPECT_THAT(of("F19"), ElementsAre(finding(kWarn, "Steps of Muon spend 30 % of their time")));
}

TEST_F(FairnessTest, F20SharedMachines) {
  run("Muon", 0).alone = false;
  run("Muon", 1).alone = false;
  run("AdamW", 1).alone.reset();
  EXPECT_THAT(of("F20"), ElementsAre(finding(kWarn, "2 runs shared the machine"),
                                     finding(kInform, "For 1 run nothing records")));
}

TEST_F(FairnessTest, F20IsSilentAboutCompanyWhereStepsWereTimedAlone) {
  for (size_t i = 0; i < 2; ++i) {
    Result& result = run("Muon", i);
    result.alone = false;
    result.seconds_from_probe = true;
    result.probe.emplace();
    result.probe->steps = {{0, 1, 0, 0, 0}, {0, 1.01, 0, 0, 0}, {0, 1.02, 0, 0, 0}};
  }
  EXPECT_THAT(of("F20"), IsEmpty());
  run("Muon", 2).alone = false;
  EXPECT_THAT(of("F20"), ElementsAre(finding(kWarn, "1 run shared the machine")));
}

TEST_F(FairnessTest, F20TimingsThatAreFarApart) {
  Result& result = run("Muon", 0);
  result.alone = false;
  result.seconds_from_probe = true;
  result.probe.emplace();
  result.probe->steps = {{0, 1, 0, 0, 0}, {0, 1.5, 0, 0, 0}, {0, 2, 0, 0, 0}};
  EXPECT_THAT(of("F20"), ElementsAre(finding(kWarn, "quartiles differ: Muon by 33 % of the median",
                                             "Something else used the machine")));
}

TEST_F(FairnessTest, F21ATargetThatNotAllReach) {
  for (EvaluationRow& row : run("Muon", 0).held_out) row.acceptance_length = 1.1;
  EXPECT_THAT(of("F21"), ElementsAre(finding(kInform, "Muon reached the target in 2 of 3 runs")));
}

TEST_F(FairnessTest, F21ATargetReachedOnlyAtTheEnd) {
  study_.plan.target.value = 1.302;
  EXPECT_THAT(of("F21"), ElementsAre(finding(kInform, run("AdamW", 0).run + " and 5 more runs",
                                             "in the last evaluation alone")));
}

TEST_F(FairnessTest, F22ASpeedUpOfSchedules) {
  study_.plan.target.value = 1.28;
  for (size_t i = 0; i < 3; ++i) {
    EvaluationRow row = run("AdamW", i).held_out.back();
    row.step = 99;
    run("AdamW", i).held_out.insert(run("AdamW", i).held_out.end() - 1, row);
  }
  EXPECT_THAT(of("F22"), IsEmpty());
  for (size_t i = 0; i < 3; ++i) run("Muon", i).config.training.steps = 200;
  EXPECT_THAT(of("F22"), ElementsAre(finding(kWarn,
                                             "AdamW reaches the target only where its "
                                             "schedule has come down",
                                             "Muon ends")));
}

TEST_F(FairnessTest, F23Divergence) {
  add_trials("AdamW", "adamw");
  study_.results.back().outcome = "diverged";
  EXPECT_THAT(of("F23"), ElementsAre(finding(kInform, "1 run of 5 of AdamW diverged")));
  run("Muon", 1).outcome = "diverged";
  EXPECT_THAT(of("F23"), ElementsAre(finding(kInform, "1 run of 5 of AdamW diverged"),
                                     finding(kRefuse, "1 run of 3 of Muon diverged",
                                             "at the setting that is compared")));
}

TEST_F(FairnessTest, F23NotANumberAndLossesThatRise) {
  run("Muon", 1).held_out[1].loss = kNaN;
  run("AdamW", 0).held_out[2].loss = 11;
  const Findings findings = of("F23");
  EXPECT_THAT(findings, ElementsAre(finding(kRefuse, "Held-out numbers of " + run("Muon", 1).run),
                                    finding(kWarn, run("AdamW", 0).run, "(11.00 after 10.00)")));
}

TEST_F(FairnessTest, F24AMuonArmWithoutMuon) {
  for (size_t i = 0; i < 3; ++i) {
    for (Route& route : run("Muon", i).config.routing) route.rule = "adamw";
  }
  EXPECT_THAT(of("F24"), ElementsAre(finding(kRefuse, "No tensor of Muon is updated by muon")));
}

TEST_F(FairnessTest, F24VectorsOrthogonalizedMatricesLeftAndTensorsFrozen) {
  for (size_t i = 0; i < 3; ++i) {
    for (Route& route : run("Muon", i).config.routing) {
      if (route.name == "norm.weight") route.rule = "muon";
      if (route.name == "fc.weight") route.rule = "adamw";
      if (route.name == "hidden_norm.weight") route.rule = "frozen";
    }
  }
  EXPECT_THAT(of("F24"),
              ElementsAre(finding(kRefuse, "norm.weight of Muon went to muon"),
                          finding(kInform, "Muon updates fc.weight by AdamW"),
                          finding(kRefuse, "no tensor by AdamW", "hidden_norm.weight by Muon")));
}

TEST_F(FairnessTest, F25DefaultsThatDifferAndNobodyStated) {
  JsonArray& arms = study_.plan.sweep.get_object()["arms"].get_array();
  arms[1].get_object()["optimizer"].get_object().erase("weight_decay");
  EXPECT_THAT(of("F25"), IsEmpty());  // the same value, stated or not
  for (size_t i = 0; i < 3; ++i) {
    run("Muon", i).optimizer = parse_optimizer_config(
        JsonObject{{"kind", "muon"}, {"learning_rate", 0.001}, {"weight_decay", 0.1}}, "test");
  }
  EXPECT_THAT(of("F25"), ElementsAre(finding(kWarn, "does not state weight_decay of Muon",
                                             "0 for AdamW; 0.1 for Muon")));
}

TEST_F(FairnessTest, F26UpdatesOfAnotherSize) {
  for (size_t i = 0; i < 3; ++i) {
    for (UpdateRow& row : run("Muon", i).updates) row.update_rms = 2e-3;
  }
  EXPECT_THAT(of("F26"), ElementsAre(finding(kInform, "the matrices of Muon by 0.02",
                                             "those of AdamW by 0.001")));
}

TEST_F(FairnessTest, F27UnequalBuilds) {
  run("Muon", 0).provenance["libtorch"] = "2.12.0";
  run("Muon", 1).provenance.erase("commit");
  EXPECT_THAT(of("F27"), ElementsAre(finding(kWarn, "Commit differs: abc in 5 runs", "nothing in"),
                                     finding(kWarn, "Libtorch differs: 2.11.0 in 5 runs")));
  EXPECT_THAT(of("F18"), IsEmpty());
}

TEST_F(FairnessTest, F28ResumedRuns) {
  const std::string segment = run("Muon", 0).segments[0];
  run("Muon", 0).resumed = true;
  EXPECT_THAT(of("F28"), ElementsAre(finding(kInform, run("Muon", 0).run, "bit for bit")));
  run("Muon", 0).config.training.device = "cuda";
  EXPECT_THAT(of("F28"), ElementsAre(finding(kWarn, run("Muon", 0).run, "on a GPU")));
  run("Muon", 0).resumed = false;
  EXPECT_THAT(of("F28"), IsEmpty());
}

TEST_F(FairnessTest, F29SeedsThatRepeatEachOther) {
  run("Muon", 2).held_out = run("Muon", 1).held_out;
  for (EvaluationRow& row : run("Muon", 2).held_out)
    row.data_hash = "6/" + std::to_string(row.step);
  const Findings findings = of("F29");
  EXPECT_THAT(findings,
              ElementsAre(finding(
                  kRefuse, run("Muon", 2).run + " repeated the numbers of " + run("Muon", 1).run)));
  EXPECT_THAT(findings[0].arms, ElementsAre("Muon"));
  // One training that two runs of the plan share is no copy.
  run("Muon", 2).segments = run("Muon", 1).segments;
  EXPECT_THAT(of("F29"), IsEmpty());
}

TEST_F(FairnessTest, F30FewPromptsAndNoBaseline) {
  for (Result& r : study_.results) {
    for (EvaluationRow& row : r.held_out) row.prompts = 12;
  }
  run("Muon", 0).baselines.reset();
  EXPECT_THAT(of("F30"), ElementsAre(finding(kWarn, "measured on 12 prompts"),
                                     finding(kWarn, "1 run recorded no baseline")));
}

TEST_F(FairnessTest, F30AnotherDefinition) {
  for (Result& r : study_.results) {
    EvaluationRow& row = r.held_out.back();
    row.prefix_share = {row.acceptance_length - 1};
  }
  EXPECT_THAT(of("F30"), IsEmpty());
  run("Muon", 0).held_out.back().prefix_share = {0.1, 0.05};
  EXPECT_THAT(of("F30"),
              ElementsAre(finding(kRefuse, "acceptance length of " + run("Muon", 0).run)));
}

TEST_F(FairnessTest, F31MeasuresThatDisagree) {
  for (size_t i = 0; i < 3; ++i) run("AdamW", i).held_out[2].loss = 5;
  EXPECT_THAT(of("F31"), ElementsAre(finding(kInform, "AdamW has the lowest loss (5.000)",
                                             "Muon the highest acceptance length (1.405)")));
}

TEST_F(FairnessTest, F33NoTarget) {
  study_.plan.target = {};
  EXPECT_THAT(of("F33"), ElementsAre(finding(kWarn, "The plan fixes no target")));
}

TEST_F(FairnessTest, F34ASecondBudgetSaysMore) {
  run("Muon", 0).config.training.steps = 200;
  EXPECT_THAT(of("F34"), IsEmpty());
}

TEST_F(FairnessTest, F35HeldOutSequencesThatAreTrainedOn) {
  run("Muon", 0).baselines->duplicates = 2;
  const Findings findings = of("F35");
  EXPECT_THAT(findings, ElementsAre(finding(kRefuse, "2 held-out sequences", "memory counts as")));
  EXPECT_TRUE(refuses(findings[0], "AdamW", "anything", false));
}

TEST_F(FairnessTest, ManyRunsWithOneFaultGiveOneSentence) {
  for (int64_t seed = 1; seed <= 50; ++seed) {
    add("Muon", "muon", 0.001, seed, 1.4 + 0.001 * static_cast<double>(seed));
    study_.results.back().alone = false;
  }
  EXPECT_THAT(of("F20"), ElementsAre(finding(kWarn, "50 runs shared the machine")));
}

}  // namespace
}  // namespace draftlab

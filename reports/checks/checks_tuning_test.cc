#include "testing/fair_study.h"

namespace draftlab {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

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

TEST_F(FairnessTest, F03ALeadOverAnArmThatStillGainsAtItsEdgeIsNone) {
  // Ten tuning prompts, on each of which a higher rate accepts more.
  const auto trial = [&](const std::string& arm, const std::string& kind, double rate,
                         int64_t matches) {
    add(arm, kind, rate, 1, 1.2 + 0.001 * static_cast<double>(matches));
    Result& r = study_.results.back();
    r.phase = kTrial;
    r.tuning.back().prompt_blocks.assign(10, 100);
    for (int64_t i = 0; i < 10; ++i) r.tuning.back().prompt_matches[i] = matches + i % 2;
    r.tuning.back().prompt_matches.resize(10);
  };
  for (Result& r : study_.results) r.phase = kFinal;
  trial("AdamW", "adamw", 0.0005, 20);
  trial("AdamW", "adamw", 0.001, 30);
  EXPECT_THAT(of("F03"), ElementsAre(finding(kRefuse, "the last step of it still gained +0.100",
                                             "nobody knows how far behind the others AdamW is")));
  EXPECT_TRUE(refuses(of("F03")[0], "AdamW", "Muon", false));
  // Where the last step gains nothing that the prompts can tell, it may be the top.
  study_.results.back().tuning.back().prompt_matches = {20, 21, 20, 21, 20, 21, 20, 21, 20, 23};
  EXPECT_THAT(of("F03"), ElementsAre(finding(kWarn, "a better value may lie beyond")));
  study_.results.resize(study_.results.size() - 2);
  // A leader that still gains leads by more than was measured.
  trial("Muon", "muon", 0.0005, 20);
  trial("Muon", "muon", 0.001, 30);
  EXPECT_THAT(of("F03"), ElementsAre(finding(kWarn, "a better value may lie beyond")));
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

TEST_F(FairnessTest, F36SettingsThatTie) {
  add_trials("AdamW", "adamw");
  EXPECT_THAT(of("F36"), IsEmpty());
  for (Result& run : study_.results) {
    if (run.arm == "AdamW") run.tuning.back().acceptance_length = 1;
  }
  EXPECT_THAT(of("F36"), ElementsAre(finding(kWarn, "All 3 settings of AdamW tie in",
                                             "(1.000 on the tuning split); the lower loss chose")));
  EXPECT_THAT(of("F03"), IsEmpty());
  for (Result& run : study_.results) run.tuning.back().loss = 5;
  EXPECT_THAT(of("F36"), ElementsAre(finding(kWarn, "the loss ties too, and", "came first")));
  for (Result& run : study_.results) {
    if (run.arm == "AdamW" && run.optimizer.learning_rate() > 0.001)
      run.tuning.back().acceptance_length = 0.9;
  }
  EXPECT_THAT(of("F36"), ElementsAre(finding(kInform, "The best 2 settings of AdamW tie")));
}

TEST_F(FairnessTest, F01TheTuningsOwnExtensionIsToldAndNoFaultOfThePlan) {
  add_trials("AdamW", "adamw", {0.0005, 0.002, 0.004});
  add_trials("Muon", "muon", {0.0004, 0.003});
  EXPECT_THAT(of("F01"), ElementsAre(finding(kWarn, "not tuned equally")));
  study_.plan.decisions = {{"AdamW", "acceptance_length", {}, "lr=0.002", "lr=0.004"},
                           {"Muon", "acceptance_length", {}, "lr=0.001", ""}};
  EXPECT_THAT(of("F01"), ElementsAre(finding(kInform, "on an edge: AdamW 1 setting more")));
}

TEST_F(FairnessTest, F37NothingWasTuned) {
  EXPECT_THAT(of("F37"), ElementsAre(finding(kWarn, "each arm ran at one setting")));
  add("Lion", "lion", 0.001, 4, 1.3);
  add_trials("Muon", "muon", {0.002});
  EXPECT_THAT(of("F37"), IsEmpty()) << "F01 counts them now";
}

TEST_F(FairnessTest, F41AChoiceThatItsPromptsCannotTell) {
  // Two prompts of three, one of which likes the other rate.
  const auto prompts = [](Result& r, std::vector<int64_t> matches) {
    r.phase = kTrial;
    r.tuning.back().prompt_blocks.assign(matches.size(), 10);
    r.tuning.back().prompt_matches = std::move(matches);
  };
  for (Result& r : study_.results) r.phase = kFinal;
  add("Muon", "muon", 0.001, 1, 1.50);
  prompts(study_.results.back(), {6, 6, 3});
  add("Muon", "muon", 0.002, 1, 1.45);
  prompts(study_.results.back(), {5, 5, 4});
  EXPECT_THAT(of("F41"), ElementsAre(finding(
                             kWarn, "The setting of Muon was chosen on 3 prompts",
                             "the next best (learning_rate 0.002): the difference is +0.033")));
  prompts(study_.results.back(), {5, 5, 2});  // as much on every prompt
  EXPECT_THAT(of("F41"), IsEmpty());
  prompts(study_.results[study_.results.size() - 2], {6});
  prompts(study_.results.back(), {5});
  EXPECT_THAT(of("F41"), ElementsAre(finding(kWarn, "The setting of Muon was chosen on 1 prompt,",
                                             "the difference is +0.100. Give")));
  // A second tuning seed, in which the other rate does better: one prompt all the same.
  add("Muon", "muon", 0.001, 2, 1.50);
  prompts(study_.results.back(), {4});
  add("Muon", "muon", 0.002, 2, 1.45);
  prompts(study_.results.back(), {5});
  EXPECT_THAT(of("F41"), ElementsAre(finding(kWarn, "chosen on 1 prompt,", "is 0.000. Give")));
  study_.results.resize(study_.results.size() - 2);
  prompts(study_.results.back(), std::vector<int64_t>(30, 4));
  prompts(study_.results[study_.results.size() - 2], std::vector<int64_t>(30, 4));
  EXPECT_THAT(of("F41"), IsEmpty()) << "thirty prompts are enough for an interval";
}

}  // namespace
}  // namespace draftlab

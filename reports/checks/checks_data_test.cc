#include "testing/fair_study.h"

namespace draftlab {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST_F(FairnessTest, F08UnequalData) {
  run("Muon", 1).held_out[1].data_hash = "other";
  run("Muon", 1).held_out[2].data_hash = "other";
  const Findings findings = of("F08");
  ASSERT_THAT(findings, ElementsAre(finding(kRefuse, run("Muon", 1).run,
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

TEST_F(FairnessTest, F08ARunThatTookNoStepHasSeenNothing) {
  Result& r = run("Muon", 0);
  r.outcome = "interrupted";
  r.held_out.resize(1);
  r.held_out[0].data_hash.clear();
  EXPECT_THAT(of("F08"), IsEmpty());
}

TEST_F(FairnessTest, F09UnequalStoresAndDrafters) {
  run("Muon", 2).config.store = "another";
  run("Muon", 2).config.drafter.block_size = 8;
  run("AdamW", 1).config.training.labels = "argmax";
  EXPECT_THAT(of("F09"),
              ElementsAre(finding(kRefuse, "Block_size differs: 4 in 5 runs such as AdamW",
                                  "and 8 in Muon"),
                          finding(kRefuse, "Labels differs: ", "and argmax in AdamW"),
                          finding(kRefuse, "Store differs: store in 5 runs")));
}

TEST_F(FairnessTest, F10UnequalInitialWeights) {
  run("Muon", 0).baselines->initial_weights_hash = "others";
  EXPECT_THAT(of("F10"), ElementsAre(finding(kWarn, run("Muon", 0).run, run("AdamW", 0).run)));
  run("Muon", 0) = run_of("Muon", "muon", 0.001, 4, 1.404);
  EXPECT_THAT(of("F10"), IsEmpty());
  // Equal weights have equal losses only where they are evaluated alike.
  run("Muon", 0).held_out[0].loss += 1e-9;
  EXPECT_THAT(of("F10"), IsEmpty());
  for (Result& r : study_.results) r.baselines->initial_weights_hash.clear();
  EXPECT_THAT(of("F10"), ElementsAre(finding(kWarn, "did not start from the same weights"),
                                     finding(kInform, "nothing records the initial weights")));
}

TEST_F(FairnessTest, F38SeedsThatShareWeightsOrDataRefuse) {
  EXPECT_THAT(of("F38"), IsEmpty());
  for (size_t i = 0; i < 3; ++i) run("Muon", i).seeds = {4, 4, static_cast<int64_t>(i)};
  EXPECT_THAT(of("F38"), ElementsAre(finding(kRefuse,
                                             "Seeds of Muon share their initial weights "
                                             "and order of the data")));
  run("Muon", 1).seeds.weights = 5;
  run("Muon", 2).seeds.weights = 6;
  EXPECT_THAT(of("F38"), ElementsAre(finding(kRefuse, "Muon share their order of the data")));
}

TEST_F(FairnessTest, F42ManyVisitsOfFewSequences) {
  for (Result& r : study_.results) r.config.training.sequences_per_step = 4;
  for (Result& r : study_.results) r.config.split.train = 40;  // 100 steps of 4
  EXPECT_THAT(of("F42"), IsEmpty());
  run("Muon", 1).config.split.train = 39;
  EXPECT_THAT(of("F42"),
              ElementsAre(finding(kWarn, "each of its 39 sequences 10 times", run("Muon", 1).run)));
}

TEST_F(FairnessTest, F44NearCopiesOfTrainingPromptsAreToldWithBothNumbers) {
  for (Result& r : study_.results) {
    r.baselines->near_copies.assign(40, 0);
    for (size_t i = 0; i < 7; ++i) r.baselines->near_copies[i] = 1;
    // Ten blocks a prompt; what has a copy is matched more often.
    EvaluationRow& row = r.held_out.back();
    for (size_t i = 0; i < 40; ++i) row.prompt_matches[i] = i < 8 ? 6 : r.arm == "Muon" ? 3 : 2;
  }
  EXPECT_THAT(of("F44"), IsEmpty()) << "7 of 40 are fewer than a fifth";
  for (Result& r : study_.results) r.baselines->near_copies[7] = 1;
  EXPECT_THAT(of("F44"), ElementsAre(finding(
                             kWarn, "8 of 40 held-out prompts have a near copy",
                             "with one and without: AdamW 1.600 and 1.200; Muon 1.600 and 1.300")));
  for (Result& r : study_.results) r.baselines->near_copies.clear();
  EXPECT_THAT(of("F44"), IsEmpty()) << "an older version did not look";
}

TEST_F(FairnessTest, F43StepsWithoutALabelAreCounted) {
  for (Result& r : study_.results) r.unlabelled_steps = 2;
  EXPECT_THAT(of("F43"), ElementsAre(finding(kInform, "2 steps of 100 in ")));
}

TEST_F(FairnessTest, F16UnequalEvaluations) {
  run("Muon", 0).config.evaluation.stride = 2;
  for (EvaluationRow& row : run("Muon", 1).held_out) row.blocks = 500;
  run("Muon", 2).held_out[1].prompts = 39;
  run("AdamW", 2).held_out[1].blocks = 399;
  EXPECT_THAT(of("F16"), ElementsAre(finding(kRefuse, "Evaluation stride differs: 4 in 5 runs"),
                                     finding(kRefuse, "Evaluated blocks differs: 400 in 5 runs"),
                                     finding(kRefuse, "evaluations of " + run("AdamW", 2).run,
                                             run("Muon", 2).run)));
}

TEST_F(FairnessTest, F16IsSilentAboutARunThatStillWaits) {
  run("Muon", 0).held_out.clear();
  run("Muon", 0).outcome = "not started";
  EXPECT_THAT(of("F16"), IsEmpty());
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

TEST_F(FairnessTest, F35HeldOutSequencesThatAreTrainedOn) {
  run("Muon", 0).baselines->duplicates = 2;
  const Findings findings = of("F35");
  ASSERT_THAT(findings, ElementsAre(finding(kRefuse, "2 held-out sequences", "memory counts as")));
  EXPECT_TRUE(refuses(findings[0], "AdamW", "anything", false));
}

}  // namespace
}  // namespace draftlab

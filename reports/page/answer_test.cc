#include "reports/page/answer.h"

#include <gmock/gmock.h>

#include "base/number_text.h"
#include "reports/checks/checked_study.h"
#include "reports/checks/fairness.h"
#include "reports/study/summary.h"
#include "testing/synthetic_folder.h"

namespace draftlab {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

class AnswerTest : public ::testing::Test {
 protected:
  AnswerTest() : root_(scratch_folder("draftlab_answer_test")) {
    std::filesystem::remove_all(root_);
    sweep_.tuning = 24;
    sweep_.arms = {{"AdamW", "adamw", {5e-4, 1e-3, 2e-3}, {1.2, 1.28, 1.21}, 0.004},
                   {"Muon", "muon", {5e-3, 1e-2, 2e-2}, {1.3, 1.4, 1.31}, 0.1}};
  }
  ~AnswerTest() override { std::filesystem::remove_all(root_); }

  Study study(const std::vector<SyntheticEnd>& ends = {}) {
    return checked_study(write_synthetic_folder(root_, sweep_, ends));
  }
  std::string sentence(const Study& study, const std::string& topic) {
    for (const Statement& statement : answer(study)) {
      if (statement.topic == topic) return statement.sentence;
    }
    return "(no such topic)";
  }

  std::filesystem::path root_;
  SyntheticSweep sweep_;
};

TEST_F(AnswerTest, NamesTheLeaderTheDifferenceItsIntervalAndTheSeeds) {
  // Per-seed differences: 0.12 + 0.004 times (1, -1, 0) - (0, 1, -1) = (1, -2, 1).
  EXPECT_EQ(
      sentence(study(), "Acceptance length at equal steps"),
      "After 200 steps, Muon has the highest acceptance length, 1.400 (mean of 3 seeds): 0.120 "
      "above AdamW (95 % interval of the difference 0.103 to 0.137 over 3 paired seeds, p "
      "0.0011).");
}

TEST_F(AnswerTest, NamesTheLossesWhereArmsDifferInThem) {
  Study s = study();
  EXPECT_EQ(sentence(s, "Training loss"), "(no such topic)");
  for (Result& result : s.results) {
    if (result.arm == "Muon")
      result.config.training.loss = parse_loss(JsonObject{{"kl", 0.5}, {"ce", 0.5}}, "test");
  }
  s.findings = check(s);
  EXPECT_EQ(sentence(s, "Training loss"),
            "Not all arms train on one loss: AdamW on ce; Muon on 0.5 ce + 0.5 kl. Held-out loss "
            "and acceptance are the same measures for all of them.");
  EXPECT_THAT(sentence(s, "Acceptance length at equal steps"), HasSubstr("0.120 above AdamW"))
      << "and they are compared";
}

TEST_F(AnswerTest, EqualSecondsCanTurnTheOrderAround) {
  Study s = study();
  for (Result& result : s.results) result.config.training.schedule = "constant";
  s.findings = check(s);
  EXPECT_THAT(
      sentence(s, "Acceptance length at equal seconds"),
      HasSubstr("After 11.0 s of training, when the fastest run ends, AdamW has the highest "
                "acceptance length, 1.280 (mean of 3 seeds): 0.042 above Muon"));
  EXPECT_THAT(sentence(s, "Loss at equal seconds"), HasSubstr("AdamW has the lowest loss"));
}

TEST_F(AnswerTest, ALeaderAtEqualSecondsIsNamedWithItsNumberThere) {
  sweep_.arms[1] = {"Muon", "muon", {5e-3, 1e-2, 2e-2}, {1.3, 1.6, 1.31}, 0.01};
  Study s = study();
  for (Result& result : s.results) result.config.training.schedule = "constant";
  s.findings = check(s);
  const Arm& muon = s.summary.arms[1];
  const double there = at_equal_seconds(*muon.chosen(), Measure::kAcceptanceLength).estimate.mean;
  ASSERT_LT(there, 1.59) << "it is not at its end by then";
  EXPECT_THAT(sentence(s, "Acceptance length at equal seconds"),
              HasSubstr("Muon has the highest acceptance length, " + fixed(there, 3) + " (mean"));
}

TEST_F(AnswerTest, NamesNoWinnerInTheMiddleOfAScheduleAndSaysWhyOnce) {
  const Study s = study();
  EXPECT_THAT(sentence(s, "Acceptance length at equal seconds"),
              AllOf(HasSubstr("no winner is named (F12): "),
                    HasSubstr("the schedule still runs for Muon at about step 73 of 200"),
                    HasSubstr(" for AdamW and "), Not(HasSubstr("highest"))));
  EXPECT_THAT(sentence(s, "Loss at equal seconds"),
              AllOf(HasSubstr("no winner is named (F12). The loss is "),
                    HasSubstr(" for AdamW and "), Not(HasSubstr("lowest"))));
}

TEST_F(AnswerTest, ClaimsNothingWhereTheIntervalContainsZero) {
  sweep_.arms[1].lengths = {1.1907, 1.281, 1.2213};
  EXPECT_THAT(sentence(study(), "Acceptance length at equal steps"),
              AllOf(HasSubstr("no difference to AdamW can be claimed (+0.001, 95 % interval of the "
                              "difference −0.016 to 0.018 over 3 paired seeds, p 0.83; one of "),
                    HasSubstr(" would show 8 times in 10)")));
}

TEST_F(AnswerTest, RanksNoArmWithoutANumber) {
  sweep_.arms[0].lengths = {NAN, NAN, NAN};
  EXPECT_EQ(
      sentence(study(), "Acceptance length at equal steps"),
      "After 200 steps, the acceptance length of Muon is 1.400 (mean of 3 seeds); no other arm "
      "has a number.");
}

TEST_F(AnswerTest, AnArmWithoutANumberInOneMeasureIsNotRankedInThat) {
  Study s = study();
  for (Result& result : s.results) {
    if (result.arm == "Muon") result.held_out.back().loss = NAN;
  }
  s.summary = summarize(s.results, s.plan.target);
  s.findings.clear();
  EXPECT_THAT(sentence(s, "Loss at equal steps"),
              HasSubstr("(mean of 3 seeds); no other arm has a number."));
  EXPECT_THAT(sentence(s, "Acceptance length at equal steps"), HasSubstr("Muon has the highest"));
}

TEST_F(AnswerTest, NamesEveryArmThatDivergedAndHowOften) {
  EXPECT_EQ(sentence(study(), "Divergence"), "(no such topic)");
  std::vector<SyntheticEnd> ends;
  for (double rate : sweep_.arms[1].rates)
    ends.push_back({synthetic_run("Muon", rate, 2), "diverged", "loss is NaN at step 61"});
  for (double rate : sweep_.arms[0].rates) {
    for (int64_t seed : {1, 2, 3})
      ends.push_back({synthetic_run("AdamW", rate, seed), "diverged", "loss is NaN at step 61"});
  }
  EXPECT_EQ(
      sentence(study(ends), "Divergence"),
      "Diverged: 9 of 9 runs of AdamW, which therefore has no number; 1 of 3 runs of Muon. The "
      "means are of the others.");
}

TEST_F(AnswerTest, NamesNoWinnerFromFewerThanThreeSeeds) {
  for (int64_t seeds : {2, 1}) {
    std::filesystem::remove_all(root_);
    sweep_.seeds = seeds;
    const Study few = study();
    EXPECT_THAT(sentence(few, "Acceptance length at equal steps"),
                AllOf(HasSubstr("no winner is named (F07): Fewer than three finished seeds: AdamW"),
                      Not(HasSubstr("interval"))));
    for (const Statement& statement : answer(few)) {
      EXPECT_THAT(statement.sentence, Not(HasSubstr("significant")));
    }
  }
}

TEST_F(AnswerTest, LeavesOutTheArmThatACheckRefusesAndComparesTheRest) {
  sweep_.arms.push_back({"NorMuon", "normuon", {5e-3, 1e-2, 2e-2}, {1.3807, 1.5, 1.3913}, 0.1});
  Study s = study();
  s.findings.push_back(
      {Severity::kRefuse, "NorMuon is not what it says.", {"NorMuon"}, false, "F24"});
  EXPECT_THAT(sentence(s, "Acceptance length at equal steps"),
              AllOf(HasSubstr("Muon has the highest acceptance length, 1.400"),
                    HasSubstr("Checks leave out NorMuon (F24).")));
  s.findings.push_back({Severity::kRefuse, "Muon is not Muon.", {"Muon"}, false, "F24"});
  EXPECT_THAT(sentence(s, "Acceptance length at equal steps"),
              AllOf(HasSubstr("no winner is named (F24): "),
                    HasSubstr("1.280 (mean of 3 seeds) for AdamW, 1.400 (mean of 3 seeds) for Muon "
                              "and 1.500 (mean of 3 seeds) for NorMuon")));
}

TEST_F(AnswerTest, TimeToTargetCountsRunsAndInventsNoTime) {
  sweep_.target.value = 1.25;
  EXPECT_THAT(sentence(study(), "Time to target"),
              AllOf(HasSubstr("Acceptance length of at least 1.25 was reached by AdamW in 0 of 3 "
                              "runs; by Muon in 3 of 3 (median "),
                    Not(HasSubstr("Inf"))));
}

TEST_F(AnswerTest, AnEmptyFolderIsAnsweredHonestly) {
  sweep_.seeds = 1;
  std::vector<SyntheticEnd> ends;
  for (const SyntheticArm& arm : sweep_.arms) {
    for (double rate : arm.rates)
      ends.push_back({synthetic_run(arm.name, rate, 1), "not started", ""});
  }
  const Study empty = study(ends);
  EXPECT_EQ(sentence(empty, "Loss at equal steps"),
            "After 200 steps, no finished run has a number yet.");
  EXPECT_EQ(sentence(empty, "Time to target"), "No run has finished yet.");
}

}  // namespace
}  // namespace draftlab

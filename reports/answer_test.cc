#include "reports/answer.h"

#include <gmock/gmock.h>

#include "reports/synthetic_folder.h"
#include "reports/warnings.h"

namespace draftlab {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

class AnswerTest : public ::testing::Test {
 protected:
  AnswerTest() : root_(scratch_folder("draftlab_answer_test")) {
    std::filesystem::remove_all(root_);
    sweep_.tuning = 24;
    sweep_.arms = {{"AdamW", "adamw", {5e-4, 1e-3, 2e-3}, {1.2, 1.28, 1.2}, 0.004},
                   {"Muon", "muon", {5e-3, 1e-2, 2e-2}, {1.3, 1.4, 1.3}, 0.1}};
  }
  ~AnswerTest() override { std::filesystem::remove_all(root_); }

  Study study(const std::vector<SyntheticEnd>& ends = {}) {
    return load_study(write_synthetic_folder(root_, sweep_, ends));
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
      "above AdamW (95 % interval of the difference 0.103 to 0.137 over 3 paired seeds).");
}

TEST_F(AnswerTest, EqualSecondsCanTurnTheOrderAround) {
  EXPECT_THAT(
      sentence(study(), "Acceptance length at equal seconds"),
      HasSubstr("After 11.0 s of training, when the fastest run ends, AdamW has the highest"));
  EXPECT_THAT(sentence(study(), "Loss at equal seconds"), HasSubstr("AdamW has the lowest loss"));
}

TEST_F(AnswerTest, ClaimsNothingWhereTheIntervalContainsZero) {
  sweep_.arms[1].lengths = {1.2, 1.281, 1.2};
  EXPECT_THAT(sentence(study(), "Acceptance length at equal steps"),
              HasSubstr("no difference to AdamW can be claimed (+0.001, 95 % interval of the "
                        "difference −0.016 to 0.018 over 3 paired seeds)"));
}

TEST_F(AnswerTest, ClaimsNothingFromFewerThanThreeSeeds) {
  sweep_.seeds = 2;
  EXPECT_THAT(sentence(study(), "Loss at equal steps"), HasSubstr("too few to claim a difference"));
  std::filesystem::remove_all(root_);
  sweep_.seeds = 1;
  const std::string one = sentence(study(), "Loss at equal steps");
  EXPECT_THAT(one, HasSubstr("(one seed, from which no difference can be claimed)"));
  EXPECT_THAT(one, Not(HasSubstr("interval")));
  for (const Statement& statement : answer(study())) {
    EXPECT_THAT(statement.sentence, Not(HasSubstr("significant")));
  }
}

TEST_F(AnswerTest, TimeToTargetCountsRunsAndInventsNoTime) {
  EXPECT_THAT(sentence(study(), "Time to target"),
              AllOf(HasSubstr("Acceptance length of at least 1.3 was reached by AdamW in 0 of 3 "
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
            "After 200 steps, no finished run has a loss yet.");
  EXPECT_EQ(sentence(empty, "Time to target"), "No run has finished yet.");
}

TEST_F(AnswerTest, ACleanSweepHasNoWarnings) { EXPECT_THAT(warnings(study()), IsEmpty()); }

TEST_F(AnswerTest, WarnsOfChoosingOnTheReportedData) {
  sweep_.tuning = 0;
  EXPECT_THAT(warnings(study()),
              Contains(HasSubstr("AdamW and Muon were chosen on the same held-out data")));
}

TEST_F(AnswerTest, WarnsOfAGridThatEndsTooEarly) {
  sweep_.arms[1].lengths = {1.3, 1.3, 1.4};
  EXPECT_THAT(
      warnings(study()),
      Contains(AllOf(HasSubstr("best setting of Muon (learning_rate 0.02)"),
                     HasSubstr("edge of its grid in learning_rate (tried 0.005 to 0.02)"))));
}

TEST_F(AnswerTest, WarnsOfSharedMachinesUnequalGridsMissingRunsAndFewSeeds) {
  sweep_.in_company = true;
  sweep_.seeds = 2;
  sweep_.arms[0].rates.pop_back();
  const auto notes = warnings(study({{synthetic_run("Muon", 2e-2, 1), "failed", "no memory"},
                                     {synthetic_run("Muon", 2e-2, 2), "diverged", "NaN"}}));
  EXPECT_THAT(notes, Contains(HasSubstr("10 runs shared the machine")));
  EXPECT_THAT(notes, Contains(HasSubstr("2 settings of AdamW; 3 settings of Muon")));
  EXPECT_THAT(notes, Contains(HasSubstr("1 run of 10 has no result")));
  EXPECT_THAT(notes, Contains(HasSubstr("1 run of 10 diverged")));
  EXPECT_THAT(notes, Contains(HasSubstr("Fewer than three finished seeds: AdamW and Muon")));
}

TEST_F(AnswerTest, WarnsOfRunsThatDoNotStartAlike) {
  Study s = study();
  s.results[4].held_out[0].loss += 1e-9;
  EXPECT_THAT(warnings(s), Contains(HasSubstr("seed 2 do not start from the same loss")));
  s.results[0].tokens += 1;
  EXPECT_THAT(warnings(s), Contains(HasSubstr("seed 1 trained on different numbers of tokens")));
}

TEST_F(AnswerTest, WarnsOfDifferentBuilds) {
  Study s = study();
  s.results[0].provenance["libtorch"] = "2.12.0";
  EXPECT_THAT(warnings(s), Contains(HasSubstr("The runs differ in libtorch")));
}

TEST(SignedText, HasARealMinusAndNoSignForZero) {
  EXPECT_EQ(signed_text(0.1, 3), "+0.100");
  EXPECT_EQ(signed_text(-0.1, 3), "−0.100");
  EXPECT_EQ(signed_text(-0.0001, 3), "0.000");
}

}  // namespace
}  // namespace draftlab

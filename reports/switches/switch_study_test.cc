#include "reports/switches/switch_study.h"

#include <gmock/gmock.h>

#include <cmath>

#include "testing/synthetic_switch.h"

namespace draftlab {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

const std::string kAdamW = R"({"kind": "adamw", "learning_rate": 0.005})";
std::string muon(double rate) {
  return R"({"kind": "muon", "scale": "match_rms", "learning_rate": )" + std::to_string(rate) + "}";
}
const StartConfig kTransfer{}, kReset{.state = "reset"};

const SyntheticPath kA{"A", kAdamW};
const SyntheticPath kResumed{"A'", kAdamW, {{20, "", kTransfer}}};
const SyntheticPath kZeroed{"R", kAdamW, {{20, "", kReset}}};
SyntheticPath to_muon(double rate, const StartConfig& start = {}) {
  return {"B", kAdamW, {{20, muon(rate), start}}};
}
const SyntheticPath kM{"M", muon(0.02)};
const SyntheticPath kBack{"B'", muon(0.02), {{20, kAdamW, kTransfer}}};

// As sweeps/switch_smoke.json with three seeds: what seed s adds to the loss, `noise`, is the same
// in all arms but for a hundredth of it in those that differ.
std::vector<Result> smoke(double last_of_b = 2.5) {
  std::vector<Result> results;
  for (int64_t seed = 1; seed <= 3; ++seed) {
    const double s = 0.01 * static_cast<double>(seed);
    results.push_back(synthetic_run(kA, seed, {6, 5 + s, 4 + s, 3.5 + s, 3 + s}));
    results.push_back(synthetic_run(kResumed, seed, {6, 5 + s, 4 + s, 3.5 + s, 3 + s}));
    results.push_back(synthetic_run(kZeroed, seed, {6, 5 + s, 4 + s, 3.7 + s, 3.1 + 2 * s}));
    results.push_back(
        synthetic_run(to_muon(0.02), seed, {6, 5 + s, 4 + s, 3.9 + s, last_of_b + 2 * s}));
    results.push_back(synthetic_run(to_muon(0.06), seed, {6, 5 + s, 4 + s, 5, 4.5}));
    results.push_back(
        synthetic_run(to_muon(0.02, kReset), seed, {6, 5 + s, 4 + s, 4.0 + s, 2.7 + 2 * s}));
    results.push_back(synthetic_run(kM, seed, {6, 4, 3, 2.5, 2.2 + s}));
    results.push_back(synthetic_run(kBack, seed, {6, 4, 3, 2.6, 2.4 + s}));
  }
  return results;
}

std::vector<SwitchStudy> studies_of(const std::vector<Result>& results) {
  return switch_studies(results, Measure::kLoss, Split::kHeldOut);
}

TEST(SwitchStudy, FindsRolesByConfigurationWhateverArmsAreCalled) {
  std::vector<Result> results = smoke();
  for (Result& r : results) r.arm = r.run = "same";
  const auto studies = studies_of(results);
  ASSERT_THAT(studies, SizeIs(2));
  const SwitchGroup& group = studies[0].group;
  EXPECT_EQ(group.place.step, 20);
  EXPECT_THAT(group.uninterrupted.runs, SizeIs(3));
  EXPECT_THAT(group.resumed.runs, SizeIs(3));
  ASSERT_THAT(group.variants, SizeIs(3));
  EXPECT_TRUE(group.variants[0].reset_only);
  EXPECT_EQ(group.variants[1].start.state, "transfer");
  EXPECT_THAT(group.variants[1].settings, SizeIs(2));
  EXPECT_EQ(group.variants[1].chosen()->optimizer.learning_rate(), 0.02);
  EXPECT_EQ(group.variants[2].start.state, "reset");
  EXPECT_THAT(group.variants[2].from_start, SizeIs(1));
  EXPECT_EQ(studies[1].group.before.optimizer.kind, "muon");
  EXPECT_THAT(studies[1].group.uninterrupted.runs, SizeIs(3));  // M is its uninterrupted run
}

TEST(SwitchStudy, MeasuresPairedDifferencesAtTheBestRate) {
  const auto studies = studies_of(smoke());
  ASSERT_EQ(studies[0].status, SwitchStudy::Status::kVerified);
  const SwitchOutcome& b = studies[0].outcomes[1];
  EXPECT_NEAR(b.transient.peak.mean, 0.4, 1e-12);
  EXPECT_EQ(b.transient.peak_step, 30);
  EXPECT_EQ(b.transient.length, 20);
  EXPECT_NEAR(b.final_loss.difference.mean, -0.48, 1e-12);  // -0.5 + s
  EXPECT_NEAR(b.final_loss.difference.sd, 0.01, 1e-12);
  EXPECT_NEAR(b.final_length.difference.mean, 0.48, 1e-12);
  EXPECT_TRUE(b.final_loss.claimed());
  EXPECT_EQ(b.final_loss.comparisons, 6) << "three variants, two measures";
  // p = 2 P(t_2 > 0.48 sqrt 3 / 0.01), the smallest of six: times 6.
  EXPECT_NEAR(b.final_loss.p, 1.4465e-4, 2e-7);
  EXPECT_NEAR(b.final_loss.adjusted_p, 6 * b.final_loss.p, 1e-12);
  EXPECT_EQ(b.final_length.comparisons, 6);
  // t_2 at 0.05 / 12 on each side is 10.886 (scipy.stats.t.isf): 10.886 * 0.01 / sqrt 3.
  EXPECT_NEAR(b.final_loss.interval.high - b.final_loss.interval.mean, 0.06285, 1e-5);
  // 8.0 standard deviations, as for the worst of six.
  EXPECT_NEAR(b.final_loss.detectable(), 0.080, 0.001);
  EXPECT_NEAR(b.late_loss.mean, 0.32, 1e-12);
  const SwitchOutcome& r = studies[0].outcomes[0];
  EXPECT_NEAR(r.final_loss.difference.mean, 0.12, 1e-12);
  ASSERT_THAT(studies[0].gains, SizeIs(1));
  EXPECT_NEAR(studies[0].gains[0].loss.mean, -0.2, 1e-12);
}

TEST(SwitchStudy, EqualDifferencesAreNoSurerThanOneBlockAllows) {
  std::vector<Result> results;
  for (int64_t seed = 1; seed <= 3; ++seed) {
    results.push_back(synthetic_run(kA, seed, {6, 5, 4, 3.5, 3}));
    results.push_back(synthetic_run(kResumed, seed, {6, 5, 4, 3.5, 3}));
    results.push_back(synthetic_run(to_muon(0.02), seed, {6, 5, 4, 3.5, 2.99}));
  }
  for (Result& r : results) r.held_out.back().blocks = 100;
  const SwitchOutcome b = studies_of(results)[0].outcomes[0];
  EXPECT_LT(b.final_length.difference.sd, 1e-12);
  // t = 0.01 / (0.01 / sqrt 3): scipy.stats.t.sf(1.7321, 2) * 2
  EXPECT_NEAR(b.final_length.p, 0.2254, 1e-4);
  EXPECT_FALSE(b.final_length.claimed());
}

TEST(SwitchStudy, MeasuresWhatStateGainsOnlyBetweenVariantsThatAreElseAlike) {
  for (const StartConfig& start : {StartConfig{.rewarmup = 5}, StartConfig{.schedule_from = 20}}) {
    std::vector<Result> results;
    for (int64_t seed = 1; seed <= 3; ++seed) {
      for (const SyntheticPath& path : {kA, kResumed, to_muon(0.02, start), to_muon(0.02, kReset)})
        results.push_back(synthetic_run(path, seed, {6, 5, 4, 3.5, 3}));
    }
    const std::vector<SwitchStudy> studies = studies_of(results);
    ASSERT_THAT(studies, SizeIs(1));
    EXPECT_THAT(studies[0].outcomes, SizeIs(2));
    EXPECT_THAT(studies[0].gains, IsEmpty());
  }
}

TEST(SwitchStudy, ClaimsFromThreeSeedsWithoutDivergenceAndAnAdjustedPOfFivePercentOn) {
  SwitchComparison one = studies_of(smoke())[0].outcomes[1].final_loss;
  const auto claimed = [&](auto change) {
    SwitchComparison changed = one;
    change(changed);
    return changed.claimed();
  };
  EXPECT_TRUE(claimed([](auto& c) { c.adjusted_p = 0.05; }));
  EXPECT_FALSE(claimed([](auto& c) { c.adjusted_p = 0.0501; }));
  EXPECT_FALSE(claimed([](auto& c) { c.adjusted_p = NAN; }));
  EXPECT_FALSE(claimed([](auto& c) { c.difference.n = 2; }));
  EXPECT_FALSE(claimed([](auto& c) { c.diverged = 1; }));
  EXPECT_FALSE(claimed([](auto& c) { c.may_claim = false; }));
}

TEST(SwitchStudy, TellsTheFirstUpdateStateAndRules) {
  const auto studies = studies_of(smoke());
  const SwitchOutcome& b = studies[0].outcomes[1];
  ASSERT_FALSE(b.first_updates.empty());
  EXPECT_EQ(b.first_updates[0].kind, "");
  EXPECT_NEAR(b.first_updates[0].ratio, 0.02, 1e-12);
  EXPECT_NEAR(b.first_updates[0].reference, 0.005, 1e-12);
  EXPECT_EQ(b.state_bytes_before, 2 * 4 * (24 + 32 + 4));
  EXPECT_EQ(b.state_bytes_after, 4 * (24 + 32) + 2 * 4 * 4);
  ASSERT_THAT(b.changes, SizeIs(1));
  EXPECT_EQ(b.changes[0].to, "muon");
  EXPECT_EQ(b.changes[0].parameters, 56);
  EXPECT_THAT(b.fates, ElementsAre(Field(&FateCount::tensors, 3)));
}

TEST(SwitchStudy, IsRefusedWhereResumingChangesTheRun) {
  std::vector<Result> results = smoke();
  for (Result& r : results) {
    if (r.arm == "A'" && r.seeds.data == 2) r.held_out[3].loss += 1e-12;
  }
  const auto studies = studies_of(results);
  EXPECT_EQ(studies[0].status, SwitchStudy::Status::kRefused);
  EXPECT_THAT(studies[0].outcomes, IsEmpty());
  EXPECT_THAT(switch_sentences(studies[0]),
              ElementsAre(AllOf(HasSubstr("Refused: A' seed=2"), HasSubstr("step 30"))));
}

TEST(SwitchStudy, IsRefusedWhereOnlyTheWeightsDiffer) {
  std::vector<Result> results = smoke();
  for (Result& r : results) {
    if (r.arm == "A'") r.weights_hash += "x";
  }
  EXPECT_THAT(studies_of(results)[0].status_text, HasSubstr("ends with other weights"));
}

TEST(SwitchStudy, GivesNoVerdictWithoutAResumedRun) {
  std::vector<Result> results = smoke();
  std::erase_if(results, [](const Result& r) { return r.arm == "A'"; });
  const auto studies = studies_of(results);
  EXPECT_EQ(studies[0].status, SwitchStudy::Status::kNotVerified);
  EXPECT_FALSE(studies[0].outcomes[1].final_loss.claimed());
  EXPECT_NEAR(studies[0].outcomes[1].final_loss.difference.mean, -0.48, 1e-12);
  EXPECT_THAT(switch_sentences(studies[0]), Contains(HasSubstr("not verified, so nothing is")));
}

TEST(SwitchStudy, OtherTrainingOrAnotherStepIsAnotherGroup) {
  std::vector<Result> results = smoke();
  SyntheticPath early = to_muon(0.02);
  early.switches[0].at = 10;
  results.push_back(synthetic_run(early, 1, {6, 5, 4, 3, 2}));
  SyntheticPath warm = to_muon(0.02);
  warm.training.warmup = 0.75;
  results.push_back(synthetic_run(warm, 1, {6, 5, 4, 3, 2}));
  const auto studies = studies_of(results);
  ASSERT_THAT(studies, SizeIs(4));
  EXPECT_EQ(studies[2].group.place.step, 10);
  const SwitchPlace& place = studies[3].group.place;
  EXPECT_TRUE(place.in_warmup());
  EXPECT_NEAR(place.share_of_warmup(), 20. / 30, 1e-12);
  EXPECT_NEAR(place.rate, 21. / 30, 1e-12);
  EXPECT_THAT(studies[3].group.uninterrupted.runs, IsEmpty());
}

TEST(SwitchStudy, ARunThatDivergedForbidsAClaim) {
  std::vector<Result> results = smoke();
  for (int64_t seed = 4; seed <= 4; ++seed) {
    for (const double rate : {0.02, 0.06}) {
      Result r = synthetic_run(to_muon(rate), seed, {6, 5});
      r.outcome = "diverged";
      results.push_back(r);
    }
  }
  const auto studies = studies_of(results);
  EXPECT_FALSE(studies[0].outcomes[1].final_loss.claimed());
  EXPECT_THAT(switch_sentences(studies[0]), Contains(HasSubstr("1 run diverged and is not in it")));
}

std::vector<std::string> notes_of(const SwitchStudy& study) {
  std::vector<std::string> sentences;
  for (const FairnessFinding& note : study.notes) sentences.push_back(note.sentence);
  return sentences;
}

TEST(SwitchNotes, SayWhatElseDiffersBehindTheSwitch) {
  const auto studies = studies_of(smoke());
  EXPECT_THAT(
      notes_of(studies[0]),
      AllOf(Contains(HasSubstr("A rate was chosen behind the switch for B, state transfer "
                               "(2), but none for the optimizer that goes on")),
            Contains(HasSubstr("lies in the decay of the schedule, at 52 % of the peak")),
            Contains(HasSubstr("B, state reset also lost the state of 1 tensor")),
            Contains(HasSubstr("the smallest or largest that was tried for B")),
            Contains(HasSubstr("chosen on the held-out data")), Not(Contains(HasSubstr("seed")))));
}

TEST(SwitchNotes, WarnOfSchedulesThatRestartForOneSideOnly) {
  std::vector<Result> results = smoke();
  const StartConfig restart{.schedule_from = 20};
  results.push_back(synthetic_run(to_muon(0.02, restart), 1, {6, 5, 4, 3, 2}));
  EXPECT_THAT(notes_of(studies_of(results)[0]), Contains(HasSubstr("schedule begins anew for B")));
  SyntheticPath same{"A restarted", kAdamW, {{20, "", restart}}};
  results.push_back(synthetic_run(same, 1, {6, 5, 4, 3, 2}));
  EXPECT_THAT(notes_of(studies_of(results)[0]),
              Not(Contains(HasSubstr("schedule begins anew for B"))));
}

TEST(SwitchNotes, WarnOfASingleSeedAndOfAWarmUp) {
  std::vector<Result> results;
  for (SyntheticPath path : {kA, kResumed, to_muon(0.02)}) {
    path.training.warmup = 0.75;
    results.push_back(synthetic_run(path, 1, {6, 5, 4, 3, 2}));
  }
  const auto studies = studies_of(results);
  EXPECT_THAT(notes_of(studies[0]),
              AllOf(Contains(HasSubstr("One seed")), Contains(HasSubstr("at 67 % of it"))));
  EXPECT_THAT(switch_sentences(studies[0]),
              Contains(HasSubstr("one seed, from which nothing can be claimed")));
}

TEST(SwitchSentences, FollowTheNumbers) {
  EXPECT_THAT(switch_sentences(studies_of(smoke())[0]),
              Contains(AllOf(HasSubstr("the loss is up to 0.4000 above the run that went on, 10 "
                                       "steps behind the switch"),
                             HasSubstr("stays below from 20 steps behind the switch on"),
                             HasSubstr("the loss is 0.4800 below"),
                             HasSubstr("the acceptance length is 0.480 above"),
                             HasSubstr("4.0 times as far as without the switch"))));
  EXPECT_THAT(switch_sentences(studies_of(smoke(3.2))[0]),
              Contains(AllOf(HasSubstr("and it never stays below"), HasSubstr("0.2200 above"))));
}

TEST(SwitchCsv, HasARowForEverySeedRateAndStep) {
  const std::string csv = switch_study_csv(studies_of(smoke()));
  EXPECT_THAT(csv, AllOf(HasSubstr("AdamW lr=0.005 to step 20 of 40,20,\"B, state transfer\",0.02,"
                                   "yes,mean,30,0.39"),
                         HasSubstr("\"B, state transfer\",0.06,no,1,40,1.49")));
}

}  // namespace
}  // namespace draftlab

#include <set>

#include "testing/fair_study.h"

namespace draftlab {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

TEST(CheckKinds, AreInOrderWithAFunctionOrAReason) {
  ASSERT_THAT(check_kinds(), SizeIs(44));
  for (size_t i = 0; i < 44; ++i) {
    const CheckKind& kind = check_kinds()[i];
    EXPECT_EQ(kind.id, (i < 9 ? "F0" : "F") + std::to_string(i + 1));
    EXPECT_EQ(kind.run == nullptr, !kind.excluded.empty()) << kind.id;
    EXPECT_FALSE(kind.question.empty());
  }
}

TEST_F(FairnessTest, AFairStudyOfOneBudgetIsToldThatAndNothingElse) {
  ASSERT_THAT(study().findings, SizeIs(2));
  EXPECT_EQ(study_.findings[0].id, "F34");
  EXPECT_EQ(study_.findings[1].id, "F37") << "and that nobody tuned it";
  EXPECT_THAT(counts_text(study_.findings), "0 refuse a winner, 1 warns, 1 informs");
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
  add_trials("AdamW", "adamw");
  add_trials("Muon", "muon", {0.0004, 0.003});
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

TEST_F(FairnessTest, ManyRunsWithOneFaultGiveOneSentence) {
  for (int64_t seed = 1; seed <= 50; ++seed) {
    add("Muon", "muon", 0.001, seed, 1.4 + 0.001 * static_cast<double>(seed));
    study_.results.back().alone = false;
  }
  EXPECT_THAT(of("F20"), ElementsAre(finding(kWarn, "50 runs shared the machine")));
}

}  // namespace
}  // namespace draftlab

#include "reports/study/comparison.h"

#include <gmock/gmock.h>

#include <cmath>

namespace draftlab {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

// One setting per arm with these final acceptance lengths, one a seed.
Study study_of(const std::vector<std::pair<std::string, std::vector<double>>>& arms) {
  Study study;
  for (const auto& [name, lengths] : arms) {
    for (size_t i = 0; i < lengths.size(); ++i) {
      Result r;
      r.arm = name;
      r.run = name + " seed=" + std::to_string(i + 1);
      r.optimizer = parse_optimizer_config(JsonObject{{"kind", "adamw"}}, "test");
      r.seeds.weights = r.seeds.data = r.seeds.noise = static_cast<int64_t>(i) + 1;
      r.outcome = "done";
      r.steps = r.config.training.steps = 100;
      EvaluationRow row;
      row.step = 100;
      row.train_seconds = 10;
      row.acceptance_length = lengths[i];
      r.held_out.push_back(row);
      study.results.push_back(std::move(r));
    }
  }
  study.summary = summarize(study.results, {});
  return study;
}

constexpr auto kLength = Measure::kAcceptanceLength;

TEST(Comparisons, AreOfAllPairsAndAdjustedForAllOfThem) {
  const Study study = study_of(
      {{"A", {1.20, 1.21, 1.22}}, {"B", {1.302, 1.31, 1.321}}, {"C", {1.303, 1.314, 1.323}}});
  const auto all = comparisons(study, kLength, View::kEqualSteps);
  ASSERT_EQ(all.size(), 3u);
  std::vector<double> p;
  for (const Comparison& one : all) p.push_back(one.p);
  const std::vector<double> adjusted = holm(p);
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(all[i].pairs, 3);
    EXPECT_EQ(all[i].adjusted_p, adjusted[i]);
  }
  EXPECT_TRUE(all[0].claimed());   // A and B
  EXPECT_FALSE(all[2].claimed());  // B and C
}

TEST(Comparisons, ADifferenceThatStandsAloneMayNotStandAmongMany) {
  // Differences 0.02, 0.03, 0.05: p 0.065 is none; 0.03, 0.04, 0.05 is one alone (p 0.020).
  const Study two = study_of({{"A", {1, 1, 1}}, {"B", {1.03, 1.04, 1.05}}});
  EXPECT_TRUE(comparisons(two, kLength, View::kEqualSteps)[0].claimed());
  const Study four = study_of({{"A", {1, 1, 1}},
                               {"B", {1.03, 1.04, 1.05}},
                               {"C", {1.01, 0.98, 1.02}},
                               {"D", {0.97, 1.03, 1.0}}});
  const Comparison among = comparisons(four, kLength, View::kEqualSteps)[0];
  EXPECT_FALSE(among.claimed());
  EXPECT_THAT(comparison_text(among, kLength),
              AllOf(HasSubstr("no difference to B can be claimed (−0.040"),
                    HasSubstr("adjusted for 6 comparisons")));
}

TEST(Comparisons, ARefusedPairIsNeverClaimedAndNotCounted) {
  Study study = study_of(
      {{"A", {1.20, 1.21, 1.22}}, {"B", {1.302, 1.31, 1.321}}, {"C", {1.403, 1.414, 1.423}}});
  study.findings = {{Severity::kRefuse, "C saw other data.", {"C"}, false, "F08"}};
  const auto all = comparisons(study, kLength, View::kEqualSteps);
  EXPECT_TRUE(all[0].claimed());
  EXPECT_EQ(all[0].pairs, 1);
  EXPECT_EQ(all[0].adjusted_p, all[0].p);
  EXPECT_EQ(all[1].refusal->id, "F08");
  EXPECT_FALSE(all[1].claimed());
}

TEST(Comparisons, WhatConcernsTimeAloneLeavesEqualStepsAlone) {
  Study study = study_of({{"A", {1.20, 1.21, 1.22}}, {"B", {1.302, 1.31, 1.321}}});
  study.findings = {{Severity::kRefuse, "Read too early.", {}, true, "F12"}};
  EXPECT_TRUE(comparisons(study, kLength, View::kEqualSteps)[0].claimed());
  EXPECT_FALSE(comparisons(study, kLength, View::kEqualSeconds)[0].claimed());
  study.findings[0].severity = Severity::kWarn;
  EXPECT_EQ(comparisons(study, kLength, View::kEqualSeconds)[0].refusal, nullptr);
}

TEST(Comparisons, TurnAroundWithTheirSigns) {
  const Study study = study_of({{"A", {1.20, 1.21, 1.22}}, {"B", {1.302, 1.31, 1.321}}});
  const auto all = comparisons(study, kLength, View::kEqualSteps);
  const Arm &a = study.summary.arms[0], &b = study.summary.arms[1];
  const Comparison forth = comparison_of(all, a, b), back = comparison_of(all, b, a);
  EXPECT_EQ(forth.difference.mean, -back.difference.mean);
  EXPECT_EQ(forth.difference.low, -back.difference.high);
  EXPECT_EQ(forth.p, back.p);
  EXPECT_THAT(comparison_text(back, kLength), HasSubstr("0.101 above A"));
  EXPECT_THAT(comparison_text(forth, kLength), HasSubstr("0.101 below B"));
}

TEST(Comparisons, ANotANumberIsNoDifference) {
  const Study study = study_of({{"A", {1.20, std::nan(""), 1.22}}, {"B", {1.3, 1.31, 1.32}}});
  // An arm without a mean has no chosen setting, so nothing is compared with it.
  EXPECT_TRUE(comparisons(study, kLength, View::kEqualSteps).empty());
}

}  // namespace
}  // namespace draftlab

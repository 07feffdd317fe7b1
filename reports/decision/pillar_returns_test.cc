// Whether the advantage lasts with the budget.
#include <gmock/gmock.h>

#include <cmath>

#include "reports/checks/fairness.h"
#include "reports/decision/kind_pair.h"
#include "reports/decision/pillar.h"
#include "testing/synthetic_pairs.h"

namespace draftlab {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::Field;
using ::testing::HasSubstr;

Pillar returns(const std::vector<double>& ratios, double scatter = 1e-4) {
  return returns_pillar(kind_pairs(budgets(ratios, scatter), "adamw", "muon"), far_story());
}

TEST(DiminishingReturns, FollowTheTrendOfTheDataEfficiency) {
  const Pillar lasting = returns({2, 2, 2, 2});
  EXPECT_EQ(lasting.verdict, Verdict::kFor) << lasting.reason;
  EXPECT_THAT(lasting.numbers,
              Contains(Field(&PillarNumber::what, HasSubstr("at 4,000 tokens, 6.67 epochs"))));
  const Pillar vanishing = returns({2, 1.7, 1.445, 1.228});
  EXPECT_EQ(vanishing.verdict, Verdict::kAgainst) << vanishing.reason;
  EXPECT_THAT(vanishing.reason, HasSubstr("falls with the budget"));
  const Pillar unsure = returns({2, 1.2, 2.2, 1.4});
  EXPECT_EQ(unsure.verdict, Verdict::kUndecided) << unsure.reason;
  for (const PillarNumber& number : unsure.numbers) {
    if (number.what.find("predicted") == std::string::npos) continue;
    EXPECT_FALSE(std::isnan(number.low)) << number.what;
  }
}

TEST(DiminishingReturns, AreOpenWhereTheLossSaysTheOpposite) {
  const auto half = [](const Result& r) { return law(50 * static_cast<double>(r.steps)); };
  const std::vector<Study> studies = budgets({2, 2, 2, 2}, 1e-4, half);
  const Pillar pillar = returns_pillar(kind_pairs(studies, "adamw", "muon"), far_story());
  EXPECT_EQ(pillar.verdict, Verdict::kUndecided) << pillar.reason;
  const std::vector<Study> against = budgets({0.5, 0.5, 0.5, 0.5});
  EXPECT_EQ(returns_pillar(kind_pairs(against, "adamw", "muon"), far_story()).verdict,
            Verdict::kAgainst)
      << "which is what the acceptance length says";
}

TEST(DiminishingReturns, NeedThreeBudgets) {
  EXPECT_THAT(returns({2, 2}).reason, HasSubstr("differ in nothing else; a trend needs 3"));
}

TEST(DiminishingReturns, BudgetsWithoutADecayTellNothing) {
  std::vector<Study> studies = budgets({2, 2, 2, 2});
  for (Result& run : studies[0].results) run.config.training.schedule = "constant";
  studies[0].summary = summarize(studies[0].results, studies[0].plan.target);
  EXPECT_THAT(returns_pillar(kind_pairs(studies, "adamw", "muon"), far_story()).reason,
              HasSubstr("0 annealed budgets"));
}

// By the tokens the advantage is gone, by the tokens per parameter it lasts.
TEST(DiminishingReturns, AreOpenWhereTheTwoWaysToProductionDisagree) {
  const std::vector<Study> studies = budgets({2, 1.7, 1.445, 1.228});
  const std::vector<KindPair> pairs = kind_pairs(studies, "adamw", "muon");
  DecisionContext context = far_story();
  const double tokens = context.tokens_per_batch.value * 40000 / context.tokens().value;
  context.tokens_per_batch = {tokens, tokens, tokens};  // just beyond the largest budget
  context.parameters = 60;
  EXPECT_EQ(returns_pillar(pairs, context).verdict, Verdict::kFor);
  context.parameters = 1;  // 60 times as many
  EXPECT_EQ(returns_pillar(pairs, context).verdict, Verdict::kUndecided);
}

TEST(DiminishingReturns, TakeNoBudgetFromAnotherFolderAndNameThoseTheyTake) {
  std::vector<Study> studies = budgets({2, 2, 2, 2});
  const Pillar one = returns_pillar(kind_pairs(studies, "adamw", "muon"), far_story());
  ASSERT_EQ(one.origins.size(), 4u);
  EXPECT_EQ(one.origins[0], "test: AdamW 40 and Muon 40, 40 steps, 3 and 3 runs");
  // A fifth one, of another folder, which would fit but for that.
  std::vector<Study> more = budgets({2, 2, 2, 2, 0.5});
  std::erase_if(more[0].results, [](const Result& r) { return r.steps < 640; });
  more[0].plan.name = "another";
  more[0].summary = summarize(more[0].results, more[0].plan.target);
  more[0].findings = check(more[0]);
  studies.push_back(std::move(more[0]));
  const Pillar both = returns_pillar(kind_pairs(studies, "adamw", "muon"), far_story());
  EXPECT_EQ(both.origins, one.origins);
  EXPECT_EQ(both.reason, one.reason);
}

TEST(DiminishingReturns, BudgetsInOneFolderAreEachJudgedByTheirOwnChecks) {
  const std::vector<Study> studies = budgets({2, 2, 2});
  EXPECT_THAT(studies[0].findings,
              Contains(AllOf(Field(&FairnessFinding::id, "F12"),
                             Field(&FairnessFinding::severity, Severity::kRefuse))));
  EXPECT_EQ(returns_pillar(kind_pairs(studies, "adamw", "muon"), story()).verdict, Verdict::kFor);
}

}  // namespace
}  // namespace draftlab

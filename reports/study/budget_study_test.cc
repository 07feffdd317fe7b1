#include "reports/study/budget_study.h"

#include <gmock/gmock.h>

#include <cmath>

namespace draftlab {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

double law(double tokens) { return 2 + 4 / std::sqrt(tokens / 1000); }

// AdamW on a law of loss against tokens, and Muon as if it had twice the data, three seeds each; a
// step of Muon takes 1.5 times the seconds.
class BudgetStudyTest : public ::testing::Test {
 protected:
  void add(const std::string& kind, int64_t steps, double loss, double step_seconds,
           const std::string& more = "") {
    for (int64_t seed = 1; seed <= 3; ++seed) {
      Result r;
      r.arm = kind + " " + std::to_string(steps) + more;
      r.run = r.arm + " seed=" + std::to_string(seed);
      r.optimizer = r.config.optimizer =
          parse_optimizer_config(JsonObject{{"kind", kind}, {"learning_rate", 1e-3}}, "test");
      r.seeds.weights = r.seeds.data = r.seeds.noise = seed;
      r.outcome = "done";
      r.steps = r.config.training.steps = steps;
      r.config.training.sequences_per_step = 4;
      r.config.split.train = 200;
      r.tokens = 10 * steps;
      r.train_seconds = step_seconds * static_cast<double>(steps);
      EvaluationRow row;
      row.step = steps;
      row.train_seconds = r.train_seconds;
      row.loss = loss + 0.001 * static_cast<double>(seed - 2);
      row.acceptance_length = 6 - loss;
      r.held_out.push_back(row);
      study_.results.push_back(std::move(r));
    }
  }
  void add_all() {
    for (const int64_t steps : {100, 200, 400, 800}) {
      add("adamw", steps, law(10.0 * static_cast<double>(steps)), 1);
      add("muon", steps, law(20.0 * static_cast<double>(steps)), 1.5);
    }
  }
  BudgetStudy budgets() {
    study_.summary = summarize(study_.results, {});
    return budget_study(study_);
  }
  Study study_;
};

TEST_F(BudgetStudyTest, FindsTheLawAndHowMuchLessDataEachEndNeeds) {
  add_all();
  const BudgetStudy study = budgets();
  ASSERT_THAT(study.kinds, SizeIs(2));
  EXPECT_EQ(study.kinds[0].title, "AdamW");
  EXPECT_EQ(study.kinds[1].title, "Muon");
  ASSERT_THAT(study.trends, SizeIs(1));
  EXPECT_NEAR(study.trends[0].law.exponent, 0.5, 0.01);
  EXPECT_NEAR(study.trends[0].law.floor, 2, 0.03);
  for (const BudgetEnd& end : study.kinds[1].ends) {
    EXPECT_NEAR(end.data.ratio, 2, 0.05) << end.steps;
    EXPECT_TRUE(std::isnan(study.kinds[0].ends[0].data.ratio)) << "of the reference itself";
    EXPECT_EQ(end.sequences, 4 * static_cast<double>(end.steps));
    EXPECT_EQ(end.epochs, static_cast<double>(end.steps) / 50);
  }
}

// Muon reaches in 1.5 times the seconds of a step what AdamW reaches in twice the steps.
TEST_F(BudgetStudyTest, OnTheFrontierIsWhatNoOtherReachesAsSoon) {
  add_all();
  const BudgetStudy study = budgets();
  std::vector<int64_t> adamw, muon;
  for (const BudgetEnd& end : study.kinds[0].ends)
    if (end.on_frontier) adamw.push_back(end.steps);
  for (const BudgetEnd& end : study.kinds[1].ends)
    if (end.on_frontier) muon.push_back(end.steps);
  EXPECT_THAT(adamw, ElementsAre(100)) << "sooner than all others";
  EXPECT_THAT(muon, ElementsAre(100, 200, 400, 800));
}

TEST_F(BudgetStudyTest, IsNoneOfOneBudgetOfDifferentDraftersAndWhereArmsDifferInMore) {
  add("adamw", 100, 4, 1);
  add("muon", 100, 3, 1);
  EXPECT_THAT(budgets().kinds, IsEmpty()) << "one budget";
  add("adamw", 200, 3.5, 1);
  EXPECT_THAT(budgets().kinds, SizeIs(1));
  study_.results.back().config.drafter.block_size = 9;
  study_.results[study_.results.size() - 3].config.drafter.block_size = 9;
  EXPECT_THAT(budgets().kinds, IsEmpty()) << "two drafters";
  study_.results.resize(9 - 3);
  add("adamw", 200, 3.5, 1);
  add("adamw", 200, 3.6, 1, " otherwise");
  EXPECT_THAT(budgets().kinds, IsEmpty()) << "two arms of a kind and a length";
}

}  // namespace
}  // namespace draftlab

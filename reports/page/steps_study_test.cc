#include "reports/page/steps_study.h"

#include <gmock/gmock.h>

namespace draftlab {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::Pair;

// A finished run of one step with this loss.
Result run_of(const std::string& options, double rate, int64_t seed, double loss) {
  Result r;
  r.arm = r.run = options;
  JsonObject object = parse_json(options, "test").as_object();
  object["learning_rate"] = rate;
  r.optimizer = parse_optimizer_config(object, "test");
  r.config.optimizer = r.optimizer;
  r.config.routing = route({{"fc.weight", {4, 6}}}, r.optimizer, {}, "test");
  r.seeds = {seed, seed, seed};
  r.outcome = "done";
  r.steps = r.config.training.steps = 1;
  EvaluationRow row;
  row.step = 1;
  row.loss = loss;
  r.held_out = {row};
  return r;
}

const std::string kOne = R"({"kind": "muon", "steps": 1})";
const std::string kFive = R"({"kind": "muon"})";
const std::string kExact = R"({"kind": "muon", "orthogonalizer": "exact"})";
const TargetLevel kByLoss = {"val_loss", 1};

// Each line: an optimizer, a seed, and the losses at rates 0.01, 0.02, 0.04.
struct Line {
  std::string options;
  int64_t seed;
  std::vector<double> losses;
};
std::vector<Result> runs(const std::vector<Line>& lines) {
  std::vector<Result> results;
  for (const Line& line : lines) {
    double rate = 0.005;
    for (const double loss : line.losses)
      results.push_back(run_of(line.options, rate *= 2, line.seed, loss));
  }
  return results;
}

std::string finding_of(const std::vector<Result>& results) {
  const Summary summary = summarize(results, kByLoss);
  const auto studies = steps_studies(summary);
  return studies.size() == 1 ? finding(studies[0], summary) : "no study";
}

TEST(StepsStudy, GathersArmsThatDifferInStepsAndRateOnly) {
  const auto results = runs({{kExact, 1, {3, 2, 3}},
                             {kOne, 1, {3, 3, 2}},
                             {kFive, 1, {3, 2, 3}},
                             {R"({"kind": "muon", "steps": 3, "nesterov": false})", 1, {3, 2, 3}},
                             {R"({"kind": "adamw"})", 1, {3, 2, 3}}});
  const Summary summary = summarize(results, kByLoss);
  const auto studies = steps_studies(summary);
  ASSERT_EQ(studies.size(), 1u);
  EXPECT_THAT(studies[0].arms, ElementsAre(kExact, kOne, kFive));
  std::vector<std::string> labels;
  for (const StepsPoint& point : studies[0].points) labels.push_back(point.label);
  EXPECT_THAT(labels, ElementsAre("1 step", "5 steps", "exact"));
  EXPECT_EQ(studies[0].points[0].best->optimizer.learning_rate(), 0.04);
  EXPECT_TRUE(studies[0].points[0].at_edge);
  EXPECT_FALSE(studies[0].points[1].at_edge);
}

TEST(StepsStudy, NeedsTwoNumbersOfStepsWithSeveralRatesEach) {
  const auto none = [](const std::vector<Result>& results) {
    return steps_studies(summarize(results, kByLoss)).empty();
  };
  EXPECT_TRUE(none(runs({{kFive, 1, {3, 2, 3}}, {kExact, 1, {3, 2, 3}}})));
  EXPECT_TRUE(none(runs({{kFive, 1, {3}}, {kOne, 1, {3}}})));
  EXPECT_TRUE(none(
      runs({{kFive, 1, {3, 2}}, {R"({"kind": "muon", "orthogonalizer": "dsv4_10"})", 1, {3, 2}}})));
  EXPECT_FALSE(none(runs({{kFive, 1, {3, 2}}, {kOne, 1, {3, 2}}})));
}

TEST(StepsStudy, SplitsAndRulesKeepStudiesApart) {
  auto results = runs({{kFive, 1, {3, 2}}, {kOne, 1, {3, 2}}});
  for (Result& r : results) {
    if (r.arm == kOne) r.config.routing[0].rule = "adamw";
  }
  EXPECT_THAT(steps_studies(summarize(results, kByLoss)), IsEmpty());
}

TEST(StepsFinding, ClaimsADirectionWhenEverySeedAgrees) {
  const auto larger = runs(
      {{kOne, 1, {4, 3, 2}}, {kOne, 2, {4, 2.5, 2}}, {kFive, 1, {3, 2, 3}}, {kFive, 2, {3, 2, 3}}});
  EXPECT_THAT(
      finding_of(larger),
      HasSubstr("By the mean loss, the best rate is 0.04 with 1 step and 0.02 with 5 steps, "
                "2.0 times as large; of 2 seeds each by itself: 2.0, 2.0 times. Here the "
                "less exact orthogonalization wanted a larger rate."));
  EXPECT_THAT(finding_of(larger), HasSubstr("0.04 is the largest rate tried with 1 step"));
  const auto smaller = runs({{kOne, 1, {2, 3, 4}},
                             {kOne, 2, {2, 3, 4}},
                             {kExact, 1, {3, 2, 3}},
                             {kExact, 2, {3, 2, 3}},
                             {kFive, 1, {3, 3, 2}},
                             {kFive, 2, {3, 3, 2}}});
  EXPECT_THAT(finding_of(smaller),
              HasSubstr("0.01 with 1 step and 0.02 with the exact polar factor"));
  EXPECT_THAT(finding_of(smaller), HasSubstr("wanted a smaller rate"));
}

TEST(StepsFinding, ClaimsNothingFromOneSeedOrFromSeedsThatDisagree) {
  EXPECT_THAT(finding_of(runs({{kOne, 1, {4, 3, 2}}, {kFive, 1, {3, 2, 3}}})),
              ::testing::AllOf(HasSubstr("(one seed, from which nothing can be claimed)"),
                               Not(HasSubstr("wanted"))));
  EXPECT_THAT(finding_of(runs({{kOne, 1, {4, 3, 1}},
                               {kOne, 2, {4, 2, 3}},
                               {kFive, 1, {3, 2, 3}},
                               {kFive, 2, {3, 2, 3}}})),
              HasSubstr("1.0 times. The seeds do not agree, so nothing is claimed."));
  EXPECT_THAT(finding_of(runs({{kOne, 1, {4, 3, 1}}, {kFive, 2, {3, 2, 3}}})),
              HasSubstr("(no common seed, from which nothing can be claimed)"));
}

TEST(StepsFinding, EqualRatesAtAnEdgeDecideNothing) {
  EXPECT_THAT(finding_of(runs({{kOne, 1, {4, 3, 2}},
                               {kOne, 2, {4, 3, 2}},
                               {kFive, 1, {4, 3, 2}},
                               {kFive, 2, {4, 3, 2}}})),
              HasSubstr("That is the edge of a grid, so nothing is claimed."));
  EXPECT_THAT(finding_of(runs({{kOne, 1, {4, 2, 3}},
                               {kOne, 2, {4, 2, 3}},
                               {kFive, 1, {4, 2, 3}},
                               {kFive, 2, {4, 2, 3}}})),
              HasSubstr("wanted the same rate, as far as this grid can tell"));
}

TEST(StepsFinding, ARunWithoutANumberIsNoBestRate) {
  auto results = runs({{kOne, 1, {4, 3, NAN}}, {kFive, 1, {3, 2, 3}}});
  const Summary summary = summarize(results, kByLoss);
  const auto studies = steps_studies(summary);
  EXPECT_THAT(best_rates(studies[0].points[0], Measure::kLoss), ElementsAre(Pair("1", 0.02)));
  EXPECT_EQ(studies[0].points[0].best->optimizer.learning_rate(), 0.02);
}

}  // namespace
}  // namespace draftlab

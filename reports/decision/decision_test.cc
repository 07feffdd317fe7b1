#include "reports/decision/decision.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "source_dir.h"
#include "testing/synthetic_pairs.h"

namespace draftlab {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

Pillar pillar_of(const std::string& name, Verdict verdict, double margin) {
  Pillar pillar;
  pillar.name = name;
  pillar.verdict = verdict;
  pillar.margin = margin;
  return pillar;
}

TEST(Decision, SaysWherePillarsDisagreeAboutOneQuantity) {
  const auto disagreements = [](double low, double high) {
    Pillar curve = pillar_of("bottleneck", Verdict::kFor, 2);
    curve.steps = {"by curves", 0.36, 0.3, 0.42, 3};
    Pillar ends = pillar_of("diminishing returns", Verdict::kFor, 2);
    ends.steps = {"by ends", 0.5, low, high, 3};
    const Pillar other = pillar_of("other", Verdict::kFor, 2);
    return conclude({curve, other, other, other, ends}, story()).disagreements;
  };
  EXPECT_THAT(disagreements(0.43, 0.6),
              ::testing::ElementsAre(AllOf(HasSubstr("bottleneck measures 0.36"),
                                           HasSubstr("diminishing returns 0.5"))));
  EXPECT_THAT(disagreements(0.42, 0.6), IsEmpty());
}

Decision conclusion(Verdict bottleneck, Verdict behind, Verdict change, Verdict architecture,
                    Verdict returns) {
  return conclude(
      {pillar_of("bottleneck", bottleneck, 3), pillar_of("time behind the switch", behind, 3),
       pillar_of("switch cost", change, 2), pillar_of("architecture", architecture, NAN),
       pillar_of("diminishing returns", returns, 4)},
      story());
}

TEST(Decision, TheThreeVerdictsFollowFromThePillars) {
  const Verdict f = Verdict::kFor, a = Verdict::kAgainst, u = Verdict::kUndecided;
  const struct {
    Verdict pillars[5], start, change, stay;
    const char* says;
  } cases[] = {
      {{f, f, f, f, f}, f, f, a, "Switch this run to Muon now"},
      {{f, f, a, f, f}, f, a, f, "and start the next one with Muon"},
      {{f, f, u, f, f},
       f,
       u,
       u,
       "no measurement decides for a switch (undecided: switch cost), and"},
      {{a, a, f, f, f}, a, a, f, "do not start the next one with Muon (against it: bottleneck)"},
      {{f, f, f, u, f}, u, u, u, "is open (undecided: architecture)"},
      {{f, f, a, f, a}, a, a, f, "switch cost and diminishing returns"},
      // A switch asks how the rest of this run goes, a new run how a whole one does.
      {{a, f, f, f, f}, a, f, a, "Switch this run to Muon now"},
      {{f, a, f, f, f}, f, a, f, "(a switch has against it: time behind the switch), and start"},
  };
  for (const auto& each : cases) {
    const Decision decision = conclusion(each.pillars[0], each.pillars[1], each.pillars[2],
                                         each.pillars[3], each.pillars[4]);
    EXPECT_EQ(decision.choices[0].verdict, each.start) << each.says;
    EXPECT_EQ(decision.choices[1].verdict, each.change) << each.says;
    EXPECT_EQ(decision.choices[2].verdict, each.stay) << each.says;
    EXPECT_THAT(decision.recommendation, HasSubstr(each.says));
    EXPECT_EQ(decision.pillars[decision.weakest].name, "architecture");
  }
}

TEST(Decision, EveryPillarStandsOnThePageAndInTheJson) {
  std::vector<Study> studies = budgets({2, 2, 2});
  const DecisionContext context = story();
  const Decision decision = decide(studies, context);
  ASSERT_EQ(decision.pillars.size(), 5u);
  const std::string page = decision_page(decision, context, {}, {"<folder>"});
  const std::string json = canonical(decision_json(decision, context));
  for (const Pillar& pillar : decision.pillars) {
    EXPECT_FALSE(pillar.question.empty());
    EXPECT_FALSE(pillar.rule.empty());
    EXPECT_FALSE(pillar.reason.empty());
    EXPECT_EQ(pillar.settle.empty(), pillar.verdict != Verdict::kUndecided);
    EXPECT_THAT(page, HasSubstr("<h2>" + pillar.name));
    for (const std::string& limit : pillar.limits)
      EXPECT_THAT(page, HasSubstr("<p class=\"note\">" + limit.substr(0, 9))) << "it folds";
    EXPECT_THAT(json, HasSubstr(pillar.name));
  }
  EXPECT_THAT(page, AllOf(HasSubstr("&lt;folder&gt;"), Not(HasSubstr("<script"))));
}

TEST(Decision, EveryReadingOfTheFactsHasItsVerdictAndNoFolderItsMachine) {
  const std::vector<Study> studies = budgets({2, 2, 2});
  const std::vector<DecisionContext> readings = parse_decision_readings(
      read_json(std::string(DRAFTLAB_SOURCE_DIR) + "/sweeps/decide_story.json"), "story");
  const Decision decision = decide(studies, readings[0]);
  const std::vector<Reading> others = {{readings[1], decide(studies, readings[1])}};
  const std::string page =
      decision_page(decision, readings[0], others, {"somewhere/else/runs/study/"});
  EXPECT_THAT(page, HasSubstr("26 days are left"));
  EXPECT_THAT(page, HasSubstr("<td>2.8%</td>"));
  EXPECT_THAT(page, HasSubstr("<dd>study</dd>"));
  EXPECT_THAT(page, Not(HasSubstr("somewhere/else")));
  const Json json = decision_json(decision, readings[0], others);
  EXPECT_EQ(json.at("readings").at(0).at("choices").as_array().size(), 3u);
}

// Three budgets in one folder and a fourth, on its own terms, in another.
TEST(Decision, TakesNothingFromAnotherFolderUnasked) {
  std::vector<Study> studies = budgets({2, 2, 2});
  std::vector<Result> fourth;
  SyntheticPath path{.arm = "320", .optimizer = "", .training = {.steps = 320}};
  add_pair(fourth, path, law(32000), law(2 * 32000.), 1e-4);
  studies.push_back(study_of(std::move(fourth)));
  studies[0].sources.push_back({RunFolder("somewhere/else/budgets"), "", {}});
  studies[1].sources.push_back({RunFolder("somewhere/else/long/"), "", {}});
  DecisionContext context = far_story();
  const auto folders = [&] {
    std::vector<std::string> names;
    const Decision decision = decide(studies, context);
    for (const std::string& origin : decision.pillars.back().origins)
      names.push_back(origin.substr(0, origin.find(':')));
    names.erase(std::unique(names.begin(), names.end()), names.end());
    return names;
  };
  EXPECT_THAT(folders(), ::testing::ElementsAre("budgets"));
  context.evidence["diminishing returns"] = {"budgets", "long"};
  EXPECT_THAT(folders(), ::testing::ElementsAre("budgets", "long"));
  context.evidence["diminishing returns"] = {"long"};
  EXPECT_THAT(folders(), IsEmpty()) << "one budget is no trend";
  context.evidence["diminishing returns"] = {"short"};
  try {
    decide(studies, context);
    FAIL() << "no such folder";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(),
                AllOf(HasSubstr("\"short\", which was not given; given are budgets and long"),
                      HasSubstr("diminishing returns")));
  }
}

TEST(Decision, SaysWhyASweepAtEqualSecondsIsNoSourceOfARatioOfTimes) {
  std::vector<Study> studies = budgets({2, 2, 2});
  const auto told = [&] {
    const Decision decision = decide(studies, far_story());
    const std::vector<std::string>& limits = decision.pillars.front().limits;
    return std::ranges::count_if(
        limits, [](const std::string& limit) { return limit.find("equal seconds") != limit.npos; });
  };
  EXPECT_EQ(told(), 0);
  std::vector<Result> timed;
  SyntheticPath path{.arm = "40", .optimizer = "", .training = {.steps = 40}};
  add_pair(timed, path, 4, 3);
  studies.push_back(study_of(std::move(timed)));
  studies.back().plan.sweep = parse_json(R"({"compare": {"seconds": 60}})", "sweep.json");
  EXPECT_EQ(told(), 1);
}

TEST(Decision, ThePageOpensWithWhatToDoAndAScaleOfEveryPillar) {
  const DecisionContext context = story();
  const std::vector<Study> studies = budgets({2, 2, 2});
  const Decision decision = decide(studies, context);
  const std::string page = decision_page(decision, context, {}, {"study"});
  const size_t scale = page.find("<svg id=\"scale\"");
  ASSERT_NE(scale, std::string::npos);
  EXPECT_LT(page.find("<h1>Stay with AdamW in this run. Start the next with Muon: open.</h1>"),
            scale);
  EXPECT_LT(scale, page.find("<section id=\"summary\""));
  EXPECT_LT(scale, page.find("would settle it"));
  EXPECT_LT(page.find("would settle it"), page.find("<section id=\"summary\""));
  const std::string drawn = page.substr(scale, page.find("</svg>", scale) - scale);
  for (const Pillar& pillar : decision.pillars) EXPECT_THAT(drawn, HasSubstr(">" + pillar.name));
  EXPECT_THAT(drawn, AllOf(HasSubstr(">not measured<"), HasSubstr(">tokens per parameter<")));
  const Pillar& returns = decision.pillars.back();
  ASSERT_EQ(returns.balances.size(), 2u) << "in tokens, and in tokens a parameter";
  EXPECT_EQ(returns.balances[0].threshold, 1);
}

TEST(Decision, WhatIfTurnsWhereTheStepIsTooLong) {
  const std::vector<Study> studies = budgets({2, 2, 2});
  const DecisionContext context = story();
  const Decision decision = decide(studies, context);
  ASSERT_FALSE(decision.what_if.empty());
  EXPECT_EQ(decision.what_if.front().verdict, Verdict::kFor) << "half the steps of equal length";
  EXPECT_EQ(decision.what_if.back().verdict, Verdict::kAgainst) << "each three times as long";
  // The drafter waits for 27 % of its time: half the steps pay for 2 / (0.24 x 3.03) times the
  // length of a step.
  EXPECT_NEAR(decision.turning_step_ratio, 2 / (0.24 * 3.03), 0.06);
}

TEST(Decision, SpeaksForTheCandidateThatTheContextNames) {
  DecisionContext context = story();
  context.candidate = "normuon";
  std::vector<Study> studies = budgets({2, 2, 2});
  for (const Pillar& pillar : decide(studies, context).pillars)
    EXPECT_EQ(pillar.verdict, Verdict::kUndecided);
}

}  // namespace
}  // namespace draftlab

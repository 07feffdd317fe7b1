#include "record/routing.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "base/error.h"

namespace draftlab {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

const std::vector<ParameterShape> kParameters = {{"fc.weight", {6, 4}},
                                                 {"gate.weight", {1, 8}},
                                                 {"layers.0.up.weight", {4, 6}},
                                                 {"norm.weight", {6}}};

OptimizerConfig optimizer(const char* text) {
  return parse_optimizer_config(parse_json(text, "t"), "sweep.json: arm");
}

std::vector<Route> table(const char* config, const char* rules) {
  return route(kParameters, optimizer(config),
               parse_routing(parse_json(rules, "t"), "sweep.json: routing"), "sweep.json: routing");
}

std::vector<std::string> rules_of(const std::vector<Route>& table) {
  std::vector<std::string> rules;
  for (const Route& route : table) rules.push_back(route.rule);
  return rules;
}

std::string error_of(const char* config, const char* rules) {
  try {
    table(config, rules);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(Routing, MatricesGoToTheKindAndTheRestToAdamW) {
  EXPECT_THAT(rules_of(table(R"({"kind": "normuon"})", "[]")),
              ElementsAre("normuon", "adamw", "normuon", "adamw"));
  EXPECT_THAT(rules_of(table(R"({"kind": "adamw"})", "[]")),
              ElementsAre("adamw", "adamw", "adamw", "adamw"));
}

TEST(Routing, TheFirstRuleThatMatchesDecides) {
  const auto rows =
      table(R"({"kind": "muon"})",
            R"([{"pattern": "fc.*", "rule": "adamw"}, {"pattern": "gate.weight", "rule": "matrix"},
                               {"pattern": "*", "dimensions": 1, "rule": "frozen"}])");
  EXPECT_THAT(rules_of(rows), ElementsAre("adamw", "muon", "muon", "frozen"));
  EXPECT_EQ(rows[3].learning_rate, 0);
}

TEST(Routing, RatesAreScaledByTheShapeAndDecayIsNot) {
  const auto rows = table(
      R"({"kind": "muon", "learning_rate": 0.1, "weight_decay": 0.3, "adamw": {"learning_rate": 0.2, "weight_decay": 0.4}})",
      "[]");
  EXPECT_DOUBLE_EQ(rows[0].learning_rate, 0.1 * std::sqrt(1.5));
  EXPECT_DOUBLE_EQ(rows[2].learning_rate, 0.1);
  EXPECT_EQ(rows[0].weight_decay, 0.3);
  EXPECT_EQ(rows[3].learning_rate, 0.2);
  EXPECT_EQ(rows[3].weight_decay, 0.4);
}

TEST(Routing, RefusesRulesThatDoNothingAndVectorsAsMatrices) {
  EXPECT_THAT(error_of(R"({"kind": "muon"})", R"([{"pattern": "head.weight", "rule": "frozen"}])"),
              HasSubstr("\"head.weight\" decides no tensor"));
  EXPECT_THAT(
      error_of(
          R"({"kind": "muon"})",
          R"([{"pattern": "fc.*", "rule": "frozen"}, {"pattern": "fc.weight", "rule": "adamw"}])"),
      HasSubstr("\"fc.weight\" decides no tensor"));
  EXPECT_THAT(error_of(R"({"kind": "muon"})", R"([{"pattern": "norm.weight", "rule": "matrix"}])"),
              HasSubstr("norm.weight has 1 dimension"));
  EXPECT_THAT(error_of(R"({"kind": "muon"})", R"([{"pattern": "fc.weight", "rule": "muon"}])"),
              HasSubstr("routing[0].rule"));
  EXPECT_THROW(route(kParameters, optimizer(R"({"kind": "muon"})"), {{"fc.*", 0, 0, "adamw"}},
                     "sweep.json: routing"),
               Error);
}

TEST(Routing, ReadsBackItsOwnJson) {
  const auto rows = table(R"({"kind": "turbo_muon", "scale": "match_rms"})", "[]");
  EXPECT_EQ(canonical(to_json(routes_from_json(to_json(rows), "sweep.json: routing"))),
            canonical(to_json(rows)));
}

TEST(MuonScale, DividesSidesAsRealNumbers) {
  EXPECT_NEAR(muon_scale("original", 6, 4), 1.224744871391589, 1e-15);
  EXPECT_EQ(muon_scale("original", 4, 6), 1);
  EXPECT_DOUBLE_EQ(muon_scale("match_rms", 4, 6), 0.2 * std::sqrt(6.0));
  EXPECT_DOUBLE_EQ(muon_scale("spectral", 4, 6), std::sqrt(4.0 / 6.0));
  EXPECT_THROW(muon_scale("rms", 4, 6), Error);
}

}  // namespace
}  // namespace draftlab

#include "record/routing.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "base/error.h"
#include "record/optimizer_kind.h"
#include "record/layers/layer_kind.h"
#include "record/optimizer_kind.h"

namespace draftlab {
namespace {

using ::testing::DoubleEq;
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

// The tensors of a Gated DeltaNet layer, as its kind declares them.
TEST(Routing, WhatALayerDeclaresUndecayedIsNotDecayedWhoeverUpdatesIt) {
  DrafterConfig config{.hidden_size = 8};
  config.layer_options = {{"linear_num_key_heads", 2},
                          {"linear_num_value_heads", 4},
                          {"linear_key_head_dim", 4},
                          {"linear_value_head_dim", 4},
                          {"linear_conv_kernel_dim", 4}};
  const std::vector<ParameterShape> tensors = gated_delta_net().parameters(config);
  for (const OptimizerKind& kind : optimizer_kinds()) {
    JsonObject options = {{"kind", kind.name}, {"weight_decay", 0.1}};
    if (!kind.takes_vectors) options["adamw"] = JsonObject{{"weight_decay", 0.2}};
    const OptimizerConfig config = parse_optimizer_config(options, "test");
    for (const Route& route : route(tensors, config, {}, "test")) {
      SCOPED_TRACE(kind.name + ", " + route.name);
      const bool projection = route.name.find("_proj") != std::string::npos;
      EXPECT_EQ(route.rule, projection || kind.takes_vectors ? kind.name : "adamw");
      EXPECT_EQ(route.weight_decay, projection ? 0.1 : 0);
    }
  }
}

TEST(Routing, TheFirstRuleThatMatchesDecides) {
  const auto rows =
      table(R"({"kind": "muon"})",
            R"([{"pattern": "fc.*", "rule": "adamw"}, {"pattern": "gate.weight", "rule": "matrix"},
                               {"pattern": "*", "dimensions": 1, "rule": "frozen"}])");
  EXPECT_THAT(rules_of(rows), ElementsAre("adamw", "muon", "muon", "frozen"));
  EXPECT_THAT(rows[3].learning_rates, ElementsAre(0));
}

TEST(Routing, RatesAreScaledByTheShapeAndDecayIsNot) {
  const auto rows = table(
      R"({"kind": "muon", "learning_rate": 0.1, "weight_decay": 0.3, "adamw": {"learning_rate": 0.2, "weight_decay": 0.4}})",
      "[]");
  EXPECT_THAT(rows[0].learning_rates, ElementsAre(DoubleEq(0.1 * std::sqrt(1.5))));
  EXPECT_THAT(rows[2].learning_rates, ElementsAre(0.1));
  EXPECT_EQ(rows[0].weight_decay, 0.3);
  EXPECT_THAT(rows[3].learning_rates, ElementsAre(0.2));
  EXPECT_EQ(rows[3].weight_decay, 0.4);
}

TEST(Routing, OnTheHyperballEveryShapeHasTheRateOfTheOptions) {
  const auto rows = table(
      R"({"kind": "muon", "learning_rate": 0.1, "hyperball": true, "convention": "moonlight"})",
      "[]");
  EXPECT_THAT(rows[0].learning_rates, ElementsAre(0.1));
  EXPECT_THAT(rows[2].learning_rates, ElementsAre(0.1));
  EXPECT_EQ(rows[0].weight_decay, 0);
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
  EXPECT_THAT(error_of(R"({"kind": "lion"})", R"([{"pattern": "fc.weight", "rule": "adamw"}])"),
              HasSubstr("lion updates every tensor itself"));
}

TEST(Routing, TheUsualRulesComeAfterThoseOfTheUser) {
  EXPECT_THAT(rules_of(table(R"({"kind": "muon"})", R"([{"pattern": "fc.*", "rule": "adamw"}])")),
              ElementsAre("adamw", "adamw", "muon", "adamw"));
  EXPECT_THAT(rules_of(table(R"({"kind": "muon_all"})", "[]")),
              ElementsAre("muon_all", "muon_all", "muon_all", "muon_all"));
}

TEST(Routing, BlocksOfASplitCoverTheRowsAndHaveRatesOfTheirOwn) {
  const auto rows = table(R"({"kind": "muon", "learning_rate": 0.1, "scale": "spectral"})",
                          R"([{"pattern": "fc.weight", "rule": "matrix", "split": [4, 1, 1]}])");
  EXPECT_THAT(rows[0].split, ElementsAre(4, 1, 1));
  EXPECT_THAT(rows[0].learning_rates,
              ElementsAre(0.1, DoubleEq(0.1 * std::sqrt(0.25)), DoubleEq(0.1 * std::sqrt(0.25))));
  EXPECT_THAT(rows[2].split, ElementsAre(4)) << "one block: all rows";
  EXPECT_EQ(split_text(rows[0]), "4+1+1");
  EXPECT_EQ(rates_text(rows[0]), "0.1, 0.05, 0.05");
  EXPECT_EQ(split_text(rows[2]), "-");
}

TEST(Routing, HeadsAreSplitWhereATensorHasThem) {
  const std::vector<ParameterShape> parameters = {{"fc.weight", {6, 4}},
                                                  {"layers.0.self_attn.k_proj.weight", {4, 6}, 2},
                                                  {"layers.0.self_attn.q_proj.weight", {8, 6}, 2}};
  const auto rows =
      route(parameters, optimizer(R"({"kind": "muon", "learning_rate": 0.1})"),
            parse_routing(
                parse_json(R"([{"pattern": "*.weight", "rule": "matrix", "split": "heads"}])", "t"),
                "routing"),
            "routing");
  EXPECT_THAT(rows[0].split, ElementsAre(6));
  EXPECT_THAT(rows[1].split, ElementsAre(2, 2));
  EXPECT_THAT(rows[2].split, ElementsAre(2, 2, 2, 2));
  EXPECT_THAT(rows[2].learning_rates, ElementsAre(0.1, 0.1, 0.1, 0.1))
      << "a head has fewer rows than columns, the whole has not";
  EXPECT_EQ(split_text(rows[2]), "4 x 2");
  EXPECT_EQ(rates_text(rows[2]), "0.1");
  const auto mini = route(parameters, optimizer(R"({"kind": "adam_mini"})"), {}, "routing");
  EXPECT_THAT(mini[2].split, ElementsAre(2, 2, 2, 2)) << "Adam-mini's blocks are heads";
}

TEST(Routing, ASplitThatDoesNotFitIsRefusedByName) {
  const auto of_split = [](const std::string& split) {
    return error_of(
        R"({"kind": "muon"})",
        (R"([{"pattern": "fc.weight", "rule": "matrix", "split": )" + split + "}]").c_str());
  };
  EXPECT_THAT(of_split("[4, 1]"),
              HasSubstr("the split of the rule for \"fc.weight\" sums to 5 rows, but fc.weight has "
                        "6"));
  EXPECT_THAT(of_split("[6, 0]"), HasSubstr("routing[0].split: must be at least 1"));
  EXPECT_THAT(of_split("\"head\""), HasSubstr("routing[0].split: must be \"heads\" or a list"));
  EXPECT_THAT(of_split("[2.5, 3.5]"), HasSubstr("routing[0].split[0]: must be a whole number"));
}

TEST(Routing, ReadsBackItsOwnJson) {
  const auto rows = table(R"({"kind": "turbo_muon", "scale": "match_rms"})",
                          R"([{"pattern": "fc.weight", "rule": "matrix", "split": [4, 2]}])");
  EXPECT_EQ(canonical(to_json(routes_from_json(to_json(rows), "sweep.json: routing"))),
            canonical(to_json(rows)));
}

TEST(MuonScale, DividesSidesAsRealNumbers) {
  EXPECT_NEAR(muon_scale("original", 6, 4), 1.224744871391589, 1e-15);
  EXPECT_EQ(muon_scale("original", 4, 6), 1);
  EXPECT_DOUBLE_EQ(muon_scale("match_rms", 4, 6), 0.2 * std::sqrt(6.0));
  EXPECT_DOUBLE_EQ(muon_scale("spectral", 4, 6), std::sqrt(4.0 / 6.0));
  EXPECT_DOUBLE_EQ(muon_scale("rms", 4, 6), 0.2 * std::sqrt(24.0));
  EXPECT_THROW(muon_scale("rows", 4, 6), Error);
}

}  // namespace
}  // namespace draftlab

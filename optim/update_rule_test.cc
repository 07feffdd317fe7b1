#include "optim/update_rule.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "optim/orthogonalization.h"
#include "optim/state_transfer.h"
#include "testing/every_configuration.h"

namespace draftlab {
namespace {

using ::testing::HasSubstr;

// Asks for what its kind does not declare.
class Curious : public UpdateRule {
 public:
  using UpdateRule::UpdateRule;
  void step(at::Tensor&, const at::Tensor&, double, Scratch&, OrthogonalizationSample*) override {}
  void ask(const std::string& name) { buffer(name); }
  void count(const std::string& name) { counter(name); }
};

const Route kMatrix{"w", {4, 6}, "muon", {4}, {0.1}, 0};

TEST(UpdateRule, EveryKindHasOneAndEveryRuleAKind) {
  std::set<std::string> kinds, rules;
  for (const OptimizerKind& kind : optimizer_kinds()) kinds.insert(kind.name);
  for (const auto& [name, maker] : update_rules()) rules.insert(name);
  EXPECT_EQ(rules, kinds);
}

TEST(UpdateRule, UnknownNamesThrowInEveryLookUp) {
  const OptimizerConfig muon = config_of(R"({"kind": "muon"})");
  const at::Tensor w = at::zeros({4, 6});
  Route foreign = kMatrix, unknown = kMatrix;
  foreign.rule = "normuon";
  unknown.rule = "moun";
  Curious rule(muon, kMatrix, w);
  OptimizerConfig strange = muon;
  strange.options["orthogonalizer"] = "kj6";
  const std::vector<std::pair<std::string, std::function<void()>>> look_ups = {
      {"w: has the update rule 'normuon', which is not one of muon",
       [&] { make_update_rule(muon, foreign, w); }},
      {"'moun'", [&] { make_update_rule(muon, unknown, w); }},
      {"w: has no buffer 'momentun': muon does not declare it", [&] { rule.ask("momentun"); }},
      {"w: has no buffer 'momentum_step'", [&] { rule.count("momentum_step"); }},
      {"'kj6' is not known", [&] { orthogonalization(strange); }},
      {"'moun'", [&] { transfer_state({}, muon, {unknown}, muon, {kMatrix}); }},
      {"'moun'", [&] { transfer_state({}, muon, {}, muon, {unknown}); }},
      {"'normuon'", [&] { reset_state({}, muon, {foreign}); }},
      {"w/momentum: is missing", [&] { transfer_state({}, muon, {kMatrix}, muon, {kMatrix}); }},
      {"w/momentun: is no state", [&] {
         Optimizer optimizer(muon, {kMatrix}, {{"w", w}});
         optimizer.load_state({{"w/momentun", w}});
       }}};
  for (const auto& [expected, look_up] : look_ups)
    EXPECT_THAT(error_of(look_up), HasSubstr(expected));
}

TEST(UpdateRule, TheStateIsWhatTheKindDeclaresAndNothingElse) {
  const OptimizerConfig muon = config_of(R"({"kind": "muon", "shadow_beta2": 0.9})");
  const Curious rule(muon, kMatrix, at::zeros({4, 6}, at::kBFloat16));
  std::vector<std::string> names;
  for (const auto& [name, tensor] : rule.state()) names.push_back(name);
  EXPECT_THAT(names, ::testing::ElementsAre("exp_avg_sq", "exp_avg_sq_steps", "momentum",
                                            "momentum_steps"));
  EXPECT_EQ(rule.state().at("momentum").scalar_type(), at::kFloat);
  EXPECT_EQ(rule.state().at("momentum_steps").scalar_type(), at::kLong);
}

}  // namespace
}  // namespace draftlab

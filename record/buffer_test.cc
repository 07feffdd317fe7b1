#include "record/buffer.h"

#include <gmock/gmock.h>

#include <functional>

#include "base/error.h"
#include "record/optimizer_kind.h"
#include "record/orthogonalizer.h"
#include "record/timing.h"
#include "record/update_cost.h"

namespace draftlab {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

OptimizerConfig optimizer(const std::string& text) {
  return parse_optimizer_config(parse_json(text, "test"), "test");
}

Route matrix(const OptimizerConfig& config, const std::vector<RoutingRule>& rules = {}) {
  return route({{"w.weight", {6, 4}}}, config, rules, "test")[0];
}

std::vector<std::string> names(const std::string& text) {
  const OptimizerConfig config = optimizer(text);
  std::vector<std::string> all;
  for (const Buffer& buffer : buffers(config, matrix(config))) {
    all.push_back(buffer.name);
    if (!buffer.steps.empty()) all.push_back(buffer.steps);
  }
  return all;
}

std::string error_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(Buffers, HaveTheNamesThatCheckpointsHaveAlwaysHad) {
  EXPECT_THAT(names(R"({"kind": "adamw"})"),
              ElementsAre("exp_avg", "exp_avg_steps", "exp_avg_sq", "exp_avg_sq_steps"));
  EXPECT_THAT(names(R"({"kind": "lion"})"), ElementsAre("exp_avg", "exp_avg_steps"));
  EXPECT_THAT(names(R"({"kind": "muon"})"), ElementsAre("momentum", "momentum_steps"));
  EXPECT_THAT(names(R"({"kind": "muon", "convention": "dion", "shadow_beta2": 0.9})"),
              ElementsAre("momentum_sum", "momentum_steps", "exp_avg_sq", "exp_avg_sq_steps"));
  EXPECT_THAT(names(R"({"kind": "normuon"})"),
              ElementsAre("momentum", "momentum_steps", "row_mean_square"));
  EXPECT_THAT(names(R"({"kind": "normuon", "convention": "modded_nanogpt"})"),
              ElementsAre("momentum", "momentum_steps", "mean_square"));
  EXPECT_THAT(
      names(R"({"kind": "soap"})"),
      ElementsAre("exp_avg", "exp_avg_steps", "exp_avg_sq_rotated", "exp_avg_sq_rotated_steps",
                  "left", "left_basis", "right", "right_basis", "preconditioner_steps"));
  EXPECT_THAT(names(R"({"kind": "shampoo"})"),
              ElementsAre("exp_avg", "exp_avg_steps", "exp_avg_sq", "exp_avg_sq_steps", "left",
                          "left_root", "right", "right_root", "preconditioner_steps"));
}

TEST(Buffers, SayWhatTheyMean) {
  const OptimizerConfig dion = optimizer(R"({"kind": "muon", "convention": "dion"})");
  const Buffer sum = buffers(dion, matrix(dion))[0];
  EXPECT_EQ(sum.meaning, Buffer::Meaning::kMeanGradient);
  EXPECT_EQ(sum.beta, 0.95);
  EXPECT_NEAR(sum.factor, 0.05, 1e-15);
  EXPECT_EQ(sum.divided_by, "") << "an orthogonalization has no scale";
  const OptimizerConfig mini = optimizer(R"({"kind": "adam_mini", "beta2": 0.9})");
  const auto moments = buffers(mini, matrix(mini));
  EXPECT_EQ(moments[0].divided_by, "exp_avg_sq");
  EXPECT_EQ(moments[1].meaning, Buffer::Meaning::kMeanSquare);
  EXPECT_EQ(moments[1].beta, 0.9);
  EXPECT_THAT(moments[1].blocks, ElementsAre(4, 4, 4, 4, 4, 4)) << "rows";
  EXPECT_THAT(moments[1].shape, ElementsAre(6));
}

TEST(Buffers, OfThePartnerFollowItsOwnOptions) {
  const OptimizerConfig muon =
      optimizer(R"({"kind": "muon", "momentum": 0.5, "adamw": {"beta1": 0.6, "beta2": 0.7}})");
  const Route vector = route({{"norm.weight", {6}}}, muon, {}, "test")[0];
  const auto moments = buffers(muon, vector);
  EXPECT_EQ(moments[0].beta, 0.6);
  EXPECT_EQ(moments[1].beta, 0.7);
  EXPECT_TRUE(buffers(muon, {"w", {6}, "frozen", {6}, {0}, 0}).empty());
}

TEST(Buffers, AreSoundForEveryKindAndChoice) {
  for (const OptimizerKind& kind : optimizer_kinds()) {
    std::vector<JsonObject> given = {{{"kind", kind.name}}};
    for (const OptimizerOption& option : kind.options) {
      for (const std::string& choice : option.choices) {
        if (option.when_key.empty()) given.push_back({{"kind", kind.name}, {option.key, choice}});
      }
    }
    for (const JsonObject& object : given) {
      const OptimizerConfig config = parse_optimizer_config(object, kind.name);
      const RoutingRule split{"*", 0, 0, "matrix", {2, 2, 2}};
      for (const auto& rules : {std::vector<RoutingRule>{}, {split}}) {
        for (const Buffer& buffer : buffers(config, matrix(config, rules))) {
          EXPECT_FALSE(buffer.text.empty()) << kind.name << " " << buffer.name;
          EXPECT_GE(numbers(buffer), 1) << kind.name << " " << buffer.name;
          if (!buffer.blocks.empty()) {
            int64_t entries = 0;
            for (const int64_t block : buffer.blocks) entries += block;
            EXPECT_EQ(entries, 24) << kind.name << " " << buffer.name;
          }
        }
      }
    }
  }
}

// One unknown name through each look-up; none may take it for a kind of its choice.
TEST(UnknownNames, ThrowInEveryLookUp) {
  const OptimizerConfig muon = optimizer(R"({"kind": "muon"})"),
                        lion = optimizer(R"({"kind": "lion"})"), unknown{"moun", muon.options};
  Route foreign = matrix(muon), partner = foreign;
  foreign.rule = "normuon";
  partner.rule = "adamw";
  SegmentConfig segment;
  segment.optimizer = unknown;
  const std::vector<std::pair<std::string, std::function<void()>>> look_ups = {
      {"'moun' is not known", [] { optimizer_kind("moun", "here"); }},
      {"'moun' is not known", [] { optimizer(R"({"kind": "moun"})"); }},
      {"'moun' is not known",
       [&] {
         route({{"w", {6, 4}}}, unknown, {}, "here");
       }},
      {"'moun' is not known", [&] { step_period(segment); }},
      {"'kj6' is not known", [] { orthogonalizer_kind("kj6", "here"); }},
      {"'kj6' is not known", [] { optimizer(R"({"kind": "muon", "orthogonalizer": "kj6"})"); }},
      {"'wide' is not known", [] { muon_scale("wide", 6, 4); }},
      {"has no option momentun", [&] { muon.number("momentun"); }},
      {"'normuon' is not known",
       [] { parse_routing(parse_json(R"([{"rule": "normuon"}])", "here"), "here"); }},
      {"'moun' is not known",
       [&] {
         JsonArray rows = to_json(std::vector<Route>{matrix(muon)});
         rows[0].as_object()["rule"] = "moun";
         routes_from_json(rows, "here");
       }},
      {"'normuon', which is not one of muon", [&] { rule_of(muon, foreign); }},
      {"'normuon', which is not one of muon", [&] { rule_options(muon, foreign); }},
      {"'normuon', which is not one of muon", [&] { buffers(muon, foreign); }},
      {"'normuon', which is not one of muon", [&] { update_cost(foreign, muon); }},
      {"for which lion has no options", [&] { buffers(lion, partner); }}};
  for (const auto& [expected, look_up] : look_ups)
    EXPECT_THAT(error_of(look_up), HasSubstr(expected));
}

}  // namespace
}  // namespace draftlab

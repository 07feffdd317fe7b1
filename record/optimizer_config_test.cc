#include "record/optimizer_config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "base/error.h"
#include "record/optimizer_kind.h"

namespace draftlab {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

OptimizerConfig parse(const char* text) {
  return parse_optimizer_config(parse_json(text, "t"), "sweep.json: arm");
}

std::vector<OptimizerConfig> grid(const char* text, std::vector<std::string>& notices) {
  return parse_optimizer_grid(parse_json(text, "t"), "sweep.json: arm", notices);
}

std::string error_of(const char* text) {
  std::vector<std::string> notices;
  try {
    grid(text, notices);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(OptimizerConfig, FillsInTheDefaultsOfTheSource) {
  const OptimizerConfig muon = parse(R"({"kind": "muon"})");
  EXPECT_EQ(muon.learning_rate(), 0.02);
  EXPECT_EQ(muon.number("momentum"), 0.95);
  EXPECT_TRUE(muon.boolean("nesterov"));
  EXPECT_EQ(muon.number("weight_decay"), 0);
  EXPECT_EQ(muon.text("scale"), "original");
  EXPECT_EQ(muon.text("epsilon"), "scale_free");
  EXPECT_EQ(muon.integer("steps"), 5);
  EXPECT_EQ(muon.number("adamw.learning_rate"), 3e-4);
  EXPECT_EQ(muon.number("adamw.beta2"), 0.95);
  EXPECT_EQ(parse(R"({"kind": "normuon"})").number("beta2"), 0.95);
  EXPECT_EQ(parse(R"({"kind": "turbo_muon"})").integer("steps"), 4);
  EXPECT_EQ(parse(R"({"kind": "adamw"})").number("beta2"), 0.999);
}

TEST(OptimizerConfig, EveryKindAndOptionIsExplained) {
  for (const OptimizerKind& kind : optimizer_kinds()) {
    EXPECT_FALSE(kind.summary.empty() || kind.source.empty() || kind.formula.empty()) << kind.name;
    EXPECT_NE(kind.buffers, nullptr) << kind.name;
    // Routing and training read these of every optimizer.
    for (const char* key : {"learning_rate", "weight_decay", "qk_clip"})
      EXPECT_TRUE(parse_optimizer_config({{"kind", kind.name}}, "test").has(key)) << kind.name;
    for (const OptimizerOption& option : kind.options) {
      EXPECT_FALSE(option.meaning.empty()) << kind.name << " " << option.key;
      EXPECT_EQ(option.fallback.is_string(), !option.choices.empty())
          << kind.name << " " << option.key;
    }
  }
}

// Every kind as it is, and with each value that brings defaults of its own.
std::vector<JsonObject> every_preset() {
  std::vector<JsonObject> all;
  for (const OptimizerKind& kind : optimizer_kinds()) {
    all.push_back({{"kind", kind.name}});
    for (const OptimizerOption& option : kind.options) {
      for (const std::string& choice : option.choices) {
        if (option.when_key.empty()) all.push_back({{"kind", kind.name}, {option.key, choice}});
      }
    }
  }
  return all;
}

TEST(OptimizerConfig, ReadsBackItsOwnJson) {
  for (const JsonObject& given : every_preset()) {
    const Json json = to_json(parse_optimizer_config(given, "sweep.json: arm"));
    EXPECT_EQ(canonical(to_json(parse_optimizer_config(json, "sweep.json: arm"))), canonical(json));
  }
}

TEST(OptimizerConfig, PresetsNameOptionsAndChoicesThatExist) {
  for (const OptimizerKind& kind : optimizer_kinds()) {
    const auto find = [&](const std::string& key) {
      return std::find_if(kind.options.begin(), kind.options.end(),
                          [&](const OptimizerOption& option) { return option.key == key; });
    };
    for (const OptimizerPreset& preset : kind.presets) {
      // A kind may leave out some orthogonalizers, not conventions.
      if (preset.key == "convention") {
        EXPECT_THAT(find("convention")->choices, ::testing::Contains(preset.value)) << kind.name;
      }
      for (const auto& [key, value] : preset.defaults) {
        const auto option = find(key);
        ASSERT_NE(option, kind.options.end()) << kind.name << " " << preset.value << " " << key;
        EXPECT_GT(option, find(preset.key)) << "an option is resolved after what decides it";
        EXPECT_EQ(value.kind(), option->fallback.kind()) << kind.name << " " << key;
      }
    }
  }
}

TEST(OptimizerConfig, AConventionBringsItsDefaultsAndWhatIsGivenWins) {
  const OptimizerConfig moonlight = parse(R"({"kind": "muon", "convention": "moonlight"})");
  EXPECT_EQ(moonlight.text("momentum_form"), "accumulate");
  EXPECT_EQ(moonlight.text("scale"), "match_rms");
  EXPECT_EQ(moonlight.number("weight_decay"), 0.1);
  EXPECT_EQ(moonlight.number("adamw.weight_decay"), 0.1);
  EXPECT_EQ(moonlight.text("orthogonalizer"), "kj5");
  const OptimizerConfig dion =
      parse(R"({"kind": "muon", "convention": "dion", "nesterov": true, "steps": 7})");
  EXPECT_TRUE(dion.boolean("nesterov"));
  EXPECT_EQ(dion.text("orthogonalizer"), "polar_express");
  EXPECT_EQ(dion.number("safety"), 0.02) << "a default of the orthogonalizer that dion brings";
  EXPECT_EQ(dion.integer("steps"), 7);
  EXPECT_EQ(parse(R"({"kind": "turbo_muon", "convention": "dion"})").text("orthogonalizer"),
            "turbo");
  EXPECT_EQ(parse(R"({"kind": "muon", "orthogonalizer": "dsv4_10"})").integer("steps"), 10);
}

TEST(OptimizerConfig, OptionsExistOnlyWhereTheyMeanSomething) {
  const OptimizerConfig exact = parse(R"({"kind": "muon", "orthogonalizer": "exact"})");
  for (const char* key : {"steps", "epsilon", "safety", "lower_bound", "restart", "adamw.steps"})
    EXPECT_EQ(exact.find(key), nullptr) << key;
  EXPECT_TRUE(parse(R"({"kind": "muon", "orthogonalizer": "polar_express"})").has("lower_bound"));
  EXPECT_FALSE(parse(R"({"kind": "turbo_muon"})").has("safety"));
  EXPECT_THAT(error_of(R"({"kind": "muon", "orthogonalizer": "exact", "steps": 5})"),
              HasSubstr("sweep.json: arm.steps: is no option where orthogonalizer is exact"));
  EXPECT_THAT(error_of(R"({"kind": "muon", "restart": 2})"),
              HasSubstr("sweep.json: arm.restart: is no option where orthogonalizer is kj5"));
  EXPECT_THAT(error_of(R"({"kind": "muon", "orthogonalizer": ["kj5", "exact"], "steps": 3})"),
              HasSubstr("sweep.json: arm.steps: is no option where orthogonalizer is exact"));
  EXPECT_THAT(error_of(R"({"kind": "lion", "epsilon": 1e-8})"),
              HasSubstr("sweep.json: arm.epsilon: is not an option of lion"));
}

TEST(OptimizerConfig, HyperballTakesNoDecayAndNoScale) {
  const OptimizerConfig muon =
      parse(R"({"kind": "muon", "convention": "moonlight", "hyperball": true})");
  EXPECT_TRUE(muon.boolean("hyperball"));
  EXPECT_EQ(muon.number("weight_decay"), 0) << "Moonlight's own would be .1";
  EXPECT_EQ(muon.number("adamw.weight_decay"), 0.1) << "the partner keeps its own";
  EXPECT_FALSE(muon.has("scale") || muon.has("decay"));
  EXPECT_EQ(parse(R"({"kind": "adamw", "hyperball": true})").number("weight_decay"), 0);
  EXPECT_EQ(
      parse(R"({"kind": "soap", "hyperball": true, "weight_decay": 0})").number("weight_decay"), 0);
  EXPECT_THAT(error_of(R"({"kind": "muon", "hyperball": true, "weight_decay": 0.1})"),
              HasSubstr("sweep.json: arm.weight_decay: is 0.1 beside \"hyperball\": true"));
  EXPECT_THAT(error_of(R"({"kind": "adamw", "hyperball": [false, true], "weight_decay": 0.1})"),
              HasSubstr("sweep.json: arm.weight_decay: is 0.1 beside \"hyperball\": true"));
  EXPECT_THAT(
      error_of(R"({"kind": "muon", "hyperball": true, "scale": "match_rms"})"),
      HasSubstr("sweep.json: arm.scale: is no option where hyperball is true; leave it out"));
  EXPECT_THAT(error_of(R"({"kind": "adamw", "hyperball": true, "decay": "cautious"})"),
              HasSubstr("sweep.json: arm.decay: is no option where hyperball is true"));
  EXPECT_THAT(error_of(R"({"kind": "lion", "hyperball": true})"),
              HasSubstr("sweep.json: arm.hyperball: is not an option of lion"));
}

TEST(OptimizerConfig, HyperballIsAbsentWhereItIsOffSoThatOlderIdsStay) {
  const OptimizerConfig off = parse(R"({"kind": "muon", "hyperball": false})");
  EXPECT_FALSE(off.has("hyperball"));
  EXPECT_TRUE(off.has("scale"));
  EXPECT_EQ(canonical(to_json(off)), canonical(to_json(parse(R"({"kind": "muon"})"))));
  const Json on = to_json(parse(R"({"kind": "muon", "hyperball": true})"));
  EXPECT_EQ(canonical(to_json(parse_optimizer_config(on, "test"))), canonical(on));
  std::vector<std::string> notices;
  EXPECT_THAT(
      distinguishing_options(grid(R"({"kind": "muon", "hyperball": [false, true]})", notices)),
      ElementsAre("hyperball"));
}

TEST(OptimizerConfig, ARefusedOrthogonalizerIsToldWithTheReason) {
  EXPECT_THAT(error_of(R"({"kind": "muon", "orthogonalizer": "aol4_old"})"),
              ::testing::AllOf(HasSubstr("sweep.json: arm.orthogonalizer: 'aol4_old'"),
                               HasSubstr("sign flipped"), HasSubstr("use turbo")));
  EXPECT_THAT(error_of(R"({"kind": "muon", "orthogonalizer": "svd"})"),
              HasSubstr("sweep.json: arm.orthogonalizer: 'svd' is not known; choose one of: kj5"));
  EXPECT_THAT(error_of(R"({"kind": "turbo_muon", "orthogonalizer": "kj5"})"),
              HasSubstr("choose one of: turbo schatten4"));
}

TEST(OptimizerConfig, ATableThatIsMadeAsAWholeIsNotCutShort) {
  EXPECT_THAT(error_of(R"({"kind": "muon", "orthogonalizer": "cans5", "steps": 4})"),
              HasSubstr("sweep.json: arm.steps: is 4, but the 5 steps of cans5"));
  EXPECT_THAT(error_of(R"({"kind": "muon", "orthogonalizer": "schatten4", "steps": [4, 3]})"),
              HasSubstr("sweep.json: arm.steps: is 3, but the 4 steps of schatten4"));
  EXPECT_EQ(parse(R"({"kind": "muon", "orthogonalizer": "cans5", "steps": 6})").integer("steps"),
            6);
  EXPECT_EQ(parse(R"({"kind": "muon", "steps": 1})").integer("steps"), 1);
  EXPECT_THAT(error_of(R"({"kind": "muon", "steps": 0})"),
              HasSubstr("sweep.json: arm.steps: must lie between 1 and 50"));
}

TEST(OptimizerConfig, ErrorsNameTheKey) {
  EXPECT_THAT(error_of(R"({"kind": "moun"})"), HasSubstr("sweep.json: arm.kind: 'moun'"));
  EXPECT_THAT(error_of(R"({"momentum": 0.9})"), HasSubstr("sweep.json: arm.kind: is missing"));
  EXPECT_THAT(error_of(R"({"kind": "muon", "momentun": 0.9})"),
              HasSubstr("sweep.json: arm.momentun: is not an option of muon"));
  EXPECT_THAT(error_of(R"({"kind": "muon", "adamw": {"beta3": 0.9}})"),
              HasSubstr("sweep.json: arm.adamw.beta3: is not an option"));
  EXPECT_THAT(error_of(R"({"kind": "muon", "adamw.beta1": 0.9, "adamw": 1})"),
              HasSubstr("sweep.json: arm.adamw"));
  EXPECT_THAT(error_of(R"({"kind": "muon", "convention": "moonligth"})"),
              HasSubstr("sweep.json: arm.convention: 'moonligth'"));
  EXPECT_THAT(error_of(R"({"kind": "adamw", "learning_rate": -1})"),
              HasSubstr("sweep.json: arm.learning_rate: must lie between"));
  EXPECT_THAT(error_of(R"({"kind": "adamw", "learning_rate": "NaN"})"),
              HasSubstr("sweep.json: arm.learning_rate"));
  EXPECT_THAT(error_of(R"({"kind": "adamw", "learning_rate": "0.1"})"),
              HasSubstr("must be a number"));
  EXPECT_THAT(error_of(R"({"kind": "adamw", "beta1": 1})"), HasSubstr("sweep.json: arm.beta1"));
  EXPECT_THAT(error_of(R"({"kind": "muon", "steps": 4.5})"),
              HasSubstr("sweep.json: arm.steps: must be a whole number"));
  EXPECT_THAT(error_of(R"({"kind": "turbo_muon", "steps": 3})"),
              HasSubstr("sweep.json: arm.steps"));
  EXPECT_THAT(error_of(R"({"kind": "muon", "scale": "rms"})"),
              HasSubstr("sweep.json: arm.scale: 'rms'"));
  EXPECT_THAT(error_of(R"({"kind": "muon", "nesterov": 1})"),
              HasSubstr("sweep.json: arm.nesterov: must be true or false"));
  EXPECT_THAT(error_of(R"({"kind": "muon", "momentum": []})"),
              HasSubstr("sweep.json: arm.momentum: is an empty list"));
  EXPECT_THAT(error_of(R"({"kind": "muon", "momentum": [0.9, "x"]})"),
              HasSubstr("sweep.json: arm.momentum"));
}

TEST(OptimizerConfig, RefusesListsOutsideOfAGrid) {
  EXPECT_THROW(parse(R"({"kind": "muon", "momentum": [0.9]})"), Error);
}

TEST(OptimizerGrid, HoldsEveryCombinationWithTheLastListFastest) {
  std::vector<std::string> notices;
  const auto points = grid(
      R"({"kind": "muon", "momentum": [0.9, 0.95], "adamw": {"beta1": [0.8, 0.7, 0.6]}, "learning_rate": 0.1})",
      notices);
  std::vector<std::vector<double>> values;
  for (const auto& point : points)
    values.push_back({point.number("momentum"), point.number("adamw.beta1")});
  EXPECT_THAT(values,
              ElementsAre(ElementsAre(0.9, 0.8), ElementsAre(0.9, 0.7), ElementsAre(0.9, 0.6),
                          ElementsAre(0.95, 0.8), ElementsAre(0.95, 0.7), ElementsAre(0.95, 0.6)));
  EXPECT_THAT(notices, IsEmpty());
}

TEST(OptimizerGrid, EqualValuesRunOnceWithANotice) {
  std::vector<std::string> notices;
  const auto points =
      grid(R"({"kind": "adamw", "learning_rate": [1e-3, 0.001, 2e-3], "weight_decay": [0, 0.0]})",
           notices);
  ASSERT_EQ(points.size(), 2);
  EXPECT_EQ(points[1].learning_rate(), 2e-3);
  EXPECT_THAT(
      notices,
      ElementsAre("sweep.json: arm.learning_rate: 0.001 is listed more than once and runs once",
                  "sweep.json: arm.weight_decay: 0 is listed more than once and runs once"));
}

TEST(OptimizerGrid, OptionsThatFollowFromOthersDoNotTellPointsApart) {
  std::vector<std::string> notices;
  EXPECT_THAT(distinguishing_options(
                  grid(R"({"kind": "muon", "orthogonalizer": ["kj5", "polar_express", "exact"],
                           "learning_rate": [0.1, 0.2], "momentum": [0.9]})",
                       notices)),
              ElementsAre("learning_rate", "orthogonalizer"));
  EXPECT_THAT(distinguishing_options(grid(
                  R"({"kind": "muon", "convention": ["keller_jordan", "moonlight"]})", notices)),
              ElementsAre("convention"));
  EXPECT_THAT(distinguishing_options(grid(R"({"kind": "adamw"})", notices)), IsEmpty());
}

TEST(OptimizerGrid, WholeAndDecimalSpellingsAreTheSamePoint) {
  EXPECT_EQ(canonical(to_json(parse(R"({"kind": "muon", "steps": 5.0, "weight_decay": 0})"))),
            canonical(to_json(parse(R"({"kind": "muon", "steps": 5, "weight_decay": 0.0})"))));
}

}  // namespace
}  // namespace draftlab

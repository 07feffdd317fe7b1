#include "runner/stage.h"

#include <gmock/gmock.h>

#include <map>
#include <set>

#include "testing/example_sweep.h"

namespace draftlab {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

constexpr char kSwitch[] =
    R"([{"at": 40, "optimizer": {"kind": "muon", "learning_rate": [0.01, 0.03]}, "state": ["transfer", "reset"]}])";

std::vector<std::string> labels(const Sweep& sweep) {
  std::vector<std::string> labels;
  for (const ArmPoint& point : sweep.arms[0].points) labels.push_back(point.label);
  return labels;
}

const SegmentConfig& segment(const PlanRecord& plan, const std::string& id) {
  for (const PlannedSegment& each : plan.segments) {
    if (each.id == id) return each.config;
  }
  throw Error(id, "is not planned");
}

TEST(Stages, ASwitchIsEveryCombinationOfItsLists) {
  const Sweep sweep = example_sweep({{"/arms/0/switches", kSwitch}});
  EXPECT_THAT(labels(sweep),
              ElementsAre("then.state=transfer then.lr=0.01", "then.state=transfer then.lr=0.03",
                          "then.state=reset then.lr=0.01", "then.state=reset then.lr=0.03"));
  const Stage& stage = sweep.arms[0].points[3].stages[1];
  EXPECT_EQ(stage.from_step, 40);
  EXPECT_EQ(stage.optimizer.kind, "muon");
  EXPECT_EQ(stage.optimizer.learning_rate(), 0.03);
  EXPECT_EQ(stage.start.state, "reset");
  EXPECT_EQ(stage.start.schedule_from, 0);
}

TEST(Stages, AnOptionThatOnlySomePointsHaveIsInTheirNames) {
  for (const auto& [values, expected] :
       {std::pair<const char*, std::vector<std::string>>{"[true, false]", {"hyperball=true", ""}},
        {"[false, true]", {"", "hyperball=true"}}}) {
    const std::string optimizer =
        std::string(R"({"kind": "muon", "learning_rate": 0.01, "hyperball": )") + values + "}";
    EXPECT_EQ(labels(example_sweep({{"/arms/0/optimizer", optimizer}})), expected) << values;
  }
}

TEST(Stages, APlaceIsAStepOrAShareOfTrainingOrWarmUp) {
  const auto step = [](const char* at) {
    return example_sweep({{"/training/warmup", "0.3"},
                          {"/arms/0/switches", std::string(R"([{"at": )") + at + "}]"}})
        .arms[0]
        .points[0]
        .stages[1]
        .from_step;
  };
  EXPECT_EQ(step("7"), 7);
  EXPECT_EQ(step(R"({"training": 0.5})"), 50);
  EXPECT_EQ(step(R"({"warmup": 0.4})"), 12);
}

TEST(Stages, WhatASwitchDoesNotNameStaysAsItWas) {
  const Sweep sweep = example_sweep(
      {{"/arms/0/optimizer/learning_rate", "0.007"},
       {"/arms/0/routing", R"([{"pattern": "fc.weight", "rule": "frozen"}])"},
       {"/arms/0/switches", R"([{"at": 40, "schedule": "restart", "rewarmup": 5}])"}});
  const Stage& stage = sweep.arms[0].points[0].stages[1];
  EXPECT_EQ(stage.optimizer.learning_rate(), 0.007);
  EXPECT_EQ(stage.routing[0].rule, "frozen");
  EXPECT_EQ(stage.start.schedule_from, 40);
  EXPECT_EQ(stage.start.rewarmup, 5);
}

TEST(Stages, ArmsThatAgreeUpToASwitchShareThatPart) {
  // One arm without a switch, and three points that leave it at step 40.
  const PlanRecord plan = example_plan(
      {{"/seeds", "[1, 2]"},
       {"/arms/1", R"({"name": "switched", "optimizer": {"kind": "adamw"},
                       "switches": [{"at": 40, "optimizer": {"kind": "muon", "learning_rate": [0.01, 0.02, 0.03]}}]})"},
       {"/arms/2",
        R"({"name": "resumed", "optimizer": {"kind": "adamw"}, "switches": [{"at": 40}]})"}});
  // For each seed: the whole run, the shared part, three ends with Muon and one with AdamW.
  EXPECT_THAT(plan.segments, SizeIs(2 * 6));
  int64_t steps = 0;
  for (const PlannedSegment& each : plan.segments)
    steps += each.config.to_step - each.config.from_step;
  EXPECT_EQ(steps, 2 * (100 + 40 + 4 * 60));
  std::map<std::string, std::set<std::string>> first_parts;  // by arm
  for (const PlannedRun& run : plan.runs) {
    if (run.segments.size() == 2) first_parts[run.arm].insert(run.segments[0]);
  }
  EXPECT_EQ(first_parts["switched"], first_parts["resumed"]);
  EXPECT_THAT(first_parts["switched"], SizeIs(2));
  const SegmentConfig& end = segment(plan, plan.runs[2].segments[1]);
  EXPECT_EQ(end.from_step, 40);
  EXPECT_EQ(end.to_step, 100);
  EXPECT_EQ(end.parent, plan.runs[2].segments[0]);
  EXPECT_EQ(end.optimizer.kind, "muon");
  EXPECT_EQ(end.routing[0].rule, "muon");
}

TEST(Stages, MistakesAreErrorsAtTheirKeys) {
  const auto message = [](const std::string& switches) {
    return message_of([&] { example_sweep({{"/arms/0/switches", switches}}); });
  };
  EXPECT_THAT(message(R"([{"optimizer": {"kind": "muon"}}])"),
              HasSubstr("arms[0].switches[0].at: is missing"));
  EXPECT_THAT(message(R"([{"at": 100}])"),
              HasSubstr("arms[0].switches[0].at: is step 100; a switch has to lie"));
  EXPECT_THAT(message(R"([{"at": 0}])"), HasSubstr("is step 0"));
  EXPECT_THAT(message(R"([{"at": {"training": 0.5, "warmup": 0.5}}])"),
              HasSubstr("arms[0].switches[0].at"));
  EXPECT_THAT(message(R"([{"at": []}])"), HasSubstr("is an empty list"));
  EXPECT_THAT(message(R"([{"at": 40}, {"at": 40}])"),
              HasSubstr("arms[0].switches[1].at: is step 40, which does not"));
  EXPECT_THAT(message(R"([{"at": 40, "state": "keep"}])"),
              HasSubstr("arms[0].switches[0].state: 'keep'"));
  EXPECT_THAT(
      message(R"([{"at": 40, "optimiser": {}}])"),
      HasSubstr("arms[0].switches[0].optimiser: is not a known key; did you mean 'optimizer'?"));
  EXPECT_THAT(message(R"([{"at": 40, "optimizer": {"kind": "muon", "beta1": 1}}])"),
              HasSubstr("arms[0].switches[0].optimizer.beta1"));
}

}  // namespace
}  // namespace draftlab

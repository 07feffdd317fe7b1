#include "runner/planner.h"

#include <gmock/gmock.h>

#include <filesystem>
#include <optional>
#include <set>

#include "source_dir.h"
#include "testing/example_sweep.h"

namespace draftlab {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;
using ::testing::SizeIs;
using ::testing::StartsWith;

std::vector<std::string> run_names(const PlanRecord& plan) {
  std::vector<std::string> names;
  for (const PlannedRun& run : plan.runs) names.push_back(run.name);
  return names;
}

TEST(Planner, ARunIsNamedByItsArmTheOptionsThatVaryAndItsSeed) {
  EXPECT_THAT(run_names(example_plan()), ElementsAre("adamw seed=1"));
  EXPECT_THAT(
      run_names(
          example_plan({{"/arms/0/optimizer", R"({"kind": "muon", "learning_rate": [0.01, 1e-5],
                                        "adamw": {"learning_rate": [1e-3, 3e-5]}, "momentum": [0.95]})"},
                        {"/seeds", "[1, 2]"}})),
      ElementsAre("adamw lr=0.01 adamw.lr=0.001 seed=1", "adamw lr=0.01 adamw.lr=0.001 seed=2",
                  "adamw lr=0.01 adamw.lr=3e-05 seed=1", "adamw lr=0.01 adamw.lr=3e-05 seed=2",
                  "adamw lr=1e-05 adamw.lr=0.001 seed=1", "adamw lr=1e-05 adamw.lr=0.001 seed=2",
                  "adamw lr=1e-05 adamw.lr=3e-05 seed=1", "adamw lr=1e-05 adamw.lr=3e-05 seed=2"));
  EXPECT_THAT(run_names(example_plan({{"/seeds", R"([{"weights": 1, "data": 2, "noise": 3}])"}})),
              ElementsAre("adamw seeds=1/2/3"));
}

TEST(Planner, OptionsThatFollowFromOthersAreNotInTheName) {
  EXPECT_THAT(run_names(example_plan(
                  {{"/arms/0/optimizer",
                    R"({"kind": "muon", "orthogonalizer": ["exact", "polar_express"]})"}})),
              ElementsAre("adamw orthogonalizer=exact seed=1",
                          "adamw orthogonalizer=polar_express seed=1"));
}

TEST(Planner, RunNamesStayDistinctWhenAnArmIsCalledLikeAPoint) {
  const PlanRecord plan = example_plan(
      {{"/arms", R"([{"name": "a", "optimizer": {"kind": "adamw", "learning_rate": [0.1, 0.2]}},
                     {"name": "a lr=0.1", "optimizer": {"kind": "adamw", "learning_rate": 0.3}}])"}});
  EXPECT_THAT(run_names(plan),
              ElementsAre("a lr=0.1 seed=1", "a lr=0.2 seed=1", "a lr=0.1 seed=1 (2)"));
}

TEST(Planner, EveryRunIsOneSegmentFromNothingToTheLastStep) {
  const PlanRecord plan = example_plan({{"/arms/0/optimizer/learning_rate", "[0.1, 0.2]"}});
  ASSERT_THAT(plan.segments, SizeIs(2));
  for (size_t i = 0; i < 2; ++i) {
    const SegmentConfig& config = plan.segments[i].config;
    EXPECT_THAT(plan.runs[i].segments, ElementsAre(plan.segments[i].id));
    EXPECT_EQ(plan.segments[i].id, segment_id(config));
    EXPECT_EQ(config.parent, "");
    EXPECT_EQ(config.from_step, 0);
    EXPECT_EQ(config.to_step, 100);
    EXPECT_EQ(config.store, "0123");
    EXPECT_EQ(config.drafter.num_taps, 2);
    EXPECT_THAT(config.routing, SizeIs(parameter_shapes(config.drafter).size()));
  }
}

TEST(Planner, AStageEndsWhereTheNextBegins) {
  Sweep sweep = example_sweep();
  Stage second = sweep.arms[0].points[0].stages[0], third = second;
  second.from_step = 30;
  third.from_step = 60;
  sweep.arms[0].points[0].stages.insert(sweep.arms[0].points[0].stages.end(), {second, third});
  std::vector<std::pair<int64_t, int64_t>> steps;
  for (const PlannedSegment& segment : make_plan(sweep, example_store()).segments)
    steps.emplace_back(segment.config.from_step, segment.config.to_step);
  EXPECT_THAT(steps, ElementsAre(Pair(0, 30), Pair(30, 60), Pair(60, 100)));
}

TEST(Planner, EqualTrainingsOfTwoArmsAreOneSegmentWithANotice) {
  const PlanRecord plan = example_plan(
      {{"/arms", R"([{"name": "a", "optimizer": {"kind": "adamw", "learning_rate": [0.1, 0.2]}},
                     {"name": "b", "optimizer": {"kind": "adamw", "learning_rate": 0.2}}])"}});
  EXPECT_THAT(plan.runs, SizeIs(3));
  EXPECT_THAT(plan.segments, SizeIs(2));
  EXPECT_EQ(plan.runs[2].segments, plan.runs[1].segments);
  EXPECT_THAT(plan.notices,
              ElementsAre(HasSubstr("'b seed=1' is the same training as 'a lr=0.2 seed=1'")));
}

TEST(Planner, SeedsAndOptionsChangeTheIdAndNamesDoNot) {
  const auto id = [](const std::vector<std::pair<std::string, std::string>>& changes) {
    return example_plan(changes).segments[0].id;
  };
  const std::string plain = id({});
  EXPECT_EQ(id({{"/name", "\"other\""}}), plain);
  EXPECT_EQ(id({{"/arms/0/name", "\"other\""}}), plain);
  EXPECT_EQ(id({{"/checkpoint_every", "3"}}), plain);
  EXPECT_EQ(id({{"/target", R"({"metric": "val_loss", "value": 2})"}}), plain);
  EXPECT_EQ(id({{"/arms/0/optimizer/beta1", "0.9"}}), plain) << "the default, written out";
  EXPECT_NE(id({{"/seeds", "[2]"}}), plain);
  EXPECT_NE(id({{"/training/steps", "200"}}), plain);
  EXPECT_NE(id({{"/training/threads", "2"}}), plain);
  EXPECT_NE(id({{"/evaluation/stride", "2"}}), plain);
  EXPECT_NE(id({{"/arms/0/optimizer/weight_decay", "0"}}), plain);
  EXPECT_NE(id({{"/drafter/block_size", "5"}}), plain);
}

TEST(Planner, TheStoreIsPartOfTheId) {
  PlannedStore other = example_store();
  other.hash = "4567";
  EXPECT_NE(make_plan(example_sweep(), other).segments[0].id, example_plan().segments[0].id);
}

TEST(Planner, ASweepThatDoesNotFitTheStoreIsAnErrorAtItsKey) {
  const std::string file = "/sweeps/example.json: ";
  EXPECT_THAT(
      message_of([] {
        example_plan({{"/drafter/hidden_size", "32"}});
      }),
      StartsWith(file +
                 "drafter.hidden_size: is 32, but the target of the store /sweeps/store has 16"));
  EXPECT_THAT(message_of([] {
                example_plan({{"/drafter/vocab_size", "65"}});
              }),
              StartsWith(file + "drafter.vocab_size: is 65"));
  EXPECT_THAT(message_of([] {
                example_plan({{"/split/held_out", "3"}});
              }),
              StartsWith(file + "split: train + tuning + held_out is 11, but the store"));
  EXPECT_THAT(message_of([] {
                example_plan({{"/training/sequences_per_step", "9"}});
              }),
              StartsWith(file + "training.sequences_per_step: is 9, but split.train has 8"));
  EXPECT_THAT(message_of([] {
                example_plan({{"/drafter/hiden_size", "1"}});
              }),
              StartsWith(file + "drafter.hiden_size: is not a known key"));
}

TEST(Planner, ALossOfDistributionsNeedsAStoreThatKeepsFinalHiddenStates) {
  const std::string own =
      R"({"name": "kl", "optimizer": {"kind": "adamw"}, "training": {"loss": "kl"}})";
  PlannedStore store = example_store();
  const auto plan = [&](const std::string& pointer, const std::string& value) {
    return make_plan(example_sweep({{pointer, value}}), store);
  };
  EXPECT_THAT(message_of([&] { plan("/arms/1", own); }),
              StartsWith("/sweeps/example.json: arms[1].training.loss: 'kl' compares with the "
                         "target's own distribution, which the store /sweeps/store does not keep; "
                         "build a store with \"final_hidden\": true"));
  EXPECT_THAT(message_of([&] { plan("/training/loss", R"({"ce": 0.9, "tv": 0.1})"); }),
              StartsWith("/sweeps/example.json: training.loss: '0.9 ce + 0.1 tv'"));
  plan("/training/loss", R"("dpace")");
  store.facts.final_hidden = true;
  const PlanRecord planned = plan("/arms/1", own);
  EXPECT_EQ(planned.segments[0].config.training.loss, LossConfig{});
  EXPECT_TRUE(planned.segments[1].config.training.loss.needs_target());
}

TEST(Planner, UnusedSequencesAreNoticed) {
  EXPECT_THAT(example_plan({{"/split/held_out", "1"}}).notices,
              ElementsAre("the split uses 9 of the store's 10 sequences"));
  EXPECT_THAT(example_plan().notices, IsEmpty());
}

// Whatever the target of their stores turns out to be.
TEST(Planner, APlanWhoseRunsDoNotFitItsSegmentsIsNotRead) {
  ScratchFolder scratch;
  const RunFolder folder(scratch.path());
  const PlanRecord good = example_plan({{"/seeds", "[1, 2]"}});
  const auto refusal = [&](const std::function<void(PlanRecord&)>& edit) {
    PlanRecord plan = good;
    edit(plan);
    write_plan(folder.plan(), plan);
    return message_of([&] { read_plan(folder); });
  };
  EXPECT_EQ(refusal([](PlanRecord&) {}), "(no error)");
  const std::string run = "plan.json: run " + good.runs[0].name + ": ";
  EXPECT_THAT(refusal([](PlanRecord& plan) { plan.runs[0].segments.clear(); }),
              HasSubstr(run + "has no segments; this file was edited"));
  EXPECT_THAT(refusal([](PlanRecord& plan) { plan.runs[0].segments = {"0123456789abcdef"}; }),
              HasSubstr(run + "there is no segment 0123456789abcdef"));
  EXPECT_THAT(refusal([](PlanRecord& plan) { plan.runs[0].seeds.weights = 77; }),
              HasSubstr(run + "its seeds are not those of segment"));
  EXPECT_THAT(
      refusal([](PlanRecord& plan) { std::swap(plan.runs[0].segments, plan.runs[1].segments); }),
      HasSubstr(run + "its seeds are not those of segment"));
  EXPECT_THAT(
      refusal([](PlanRecord& plan) { plan.runs[0].optimizer.options["learning_rate"] = 9.; }),
      HasSubstr(run + "its optimizer is not that of segment"));
  EXPECT_THAT(
      refusal([](PlanRecord& plan) { plan.runs[0].segments.push_back(plan.runs[1].segments[0]); }),
      HasSubstr("does not follow the one before it"));
  EXPECT_THAT(refusal([](PlanRecord& plan) { plan.runs.push_back(plan.runs[0]); }),
              HasSubstr(run + "is there twice"));
}

TEST(Planner, EverySweepFileOfTheProjectHasAPlan) {
  const std::filesystem::path folder = DRAFTLAB_SOURCE_DIR "/sweeps";
  std::set<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() != ".json") continue;
    if (!read_json(entry.path()).as_object().contains("arms")) continue;  // no sweep
    const Sweep sweep = read_sweep(entry.path());
    const Json specification = read_json(sweep.store_specification);
    PlannedStore store = example_store();
    store.facts = {};
    store.facts.taps.resize(specification.at("taps").as_array().size());
    store.facts.final_hidden = specification.as_object().contains("final_hidden");
    const PlanRecord plan = make_plan(sweep, store);
    EXPECT_THAT(plan.notices, ::testing::Not(::testing::Contains(HasSubstr("the same training"))))
        << sweep.name;
    names.insert(entry.path().stem().string());
  }
  EXPECT_THAT(names, ::testing::IsSupersetOf({"smoke", "quick", "optimizers", "inexact_muon"}));
}

// A mid-run switch: two runs that share their first half.
TEST(SegmentGraph, PathsThatAgreeUpToAStepShareTheSegmentsUpToIt) {
  const SegmentConfig whole = example_plan().segments[0].config;
  SegmentConfig half = whole, rest = whole, other_rest = whole;
  half.to_step = 50;
  other_rest.training.clip = 0.5;
  SegmentGraph graph;
  const auto a = graph.add_path({half, rest});
  const auto b = graph.add_path({half, other_rest});
  const auto again = graph.add_path({half, rest});
  EXPECT_EQ(a[0], b[0]);
  EXPECT_NE(a[1], b[1]);
  EXPECT_EQ(a, again);
  const auto segments = graph.take();
  ASSERT_THAT(segments, SizeIs(3));
  EXPECT_EQ(segments[0].id, a[0]);
  EXPECT_EQ(segments[1].config.parent, a[0]);
  EXPECT_EQ(segments[1].config.from_step, 50);
  EXPECT_EQ(segments[2].config.parent, a[0]);
}

TEST(SegmentGraph, EachSegmentOfALongPathFollowsTheOneBefore) {
  const SegmentConfig whole = example_plan().segments[0].config;
  SegmentConfig first = whole, second = whole;
  first.to_step = 30;
  second.to_step = 50;
  SegmentGraph graph;
  const auto ids = graph.add_path({first, second, whole});
  const auto segments = graph.take();
  ASSERT_THAT(segments, SizeIs(3));
  EXPECT_EQ(segments[1].config.parent, ids[0]);
  EXPECT_EQ(segments[2].config.parent, ids[1]);
  EXPECT_EQ(segments[2].config.from_step, 50);
}

TEST(SegmentGraph, TheSameConfigurationAfterAnotherPastIsAnotherSegment) {
  const SegmentConfig whole = example_plan().segments[0].config;
  SegmentConfig half = whole, other_half = whole;
  half.to_step = other_half.to_step = 50;
  other_half.training.clip = 0.5;
  SegmentGraph graph;
  EXPECT_NE(graph.add_path({half, whole})[1], graph.add_path({other_half, whole})[1]);
}

// Ids are made from the text that runs share; they are those of the whole configuration all the
// same.
TEST(SegmentGraph, EveryIdIsTheHashOfItsWholeConfiguration) {
  SegmentConfig half;
  half.training.steps = 9;
  half.to_step = 4;
  half.store = "abc";
  SegmentConfig rest = half;
  rest.to_step = 9;
  SegmentGraph graph;
  const auto ids = graph.add_paths({half, rest}, {{1, 1, 1}, {1, 2, 3}, {-1, 2, 9000000000}});
  const std::vector<PlannedSegment> segments = graph.take();
  ASSERT_EQ(segments.size(), 6u);
  for (size_t i = 0; i < segments.size(); ++i) {
    EXPECT_EQ(segments[i].id, segment_id(segments[i].config));
    EXPECT_EQ(segments[i].id, ids[i / 2][i % 2]);
    EXPECT_EQ(segments[i].config.parent, i % 2 == 0 ? "" : ids[i / 2][0]);
  }
  EXPECT_EQ(segments[4].config.seeds, (Seeds{-1, 2, 9000000000}));
}

}  // namespace
}  // namespace draftlab

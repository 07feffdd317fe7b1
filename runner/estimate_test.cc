#include "runner/estimate.h"

#include <gmock/gmock.h>

#include "record/events.h"
#include "record/timing.h"
#include "testing/example_sweep.h"

namespace draftlab {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;

TEST(Estimate, SharedSegmentsCountOnce) {
  const PlanRecord plan = example_plan({{"/arms", R"([{"name": "a", "optimizer": {"kind": "adamw"}},
                     {"name": "b", "optimizer": {"kind": "adamw"}}])"}});
  const StepCount count = count_steps(plan);
  EXPECT_EQ(count.run_steps, 200);
  EXPECT_EQ(count.segment_steps, 100);
  EXPECT_EQ(count.shared_segments, 1);
}

TEST(Estimate, AnAdamWCheckpointHoldsThreeNumbersPerWeight) {
  const SegmentConfig config = example_plan().segments[0].config;
  int64_t weights = 0;
  for (const auto& shape : parameter_shapes(config.drafter)) weights += shape.count();
  EXPECT_EQ(checkpoint_bytes(config), 12.0 * weights);
  EXPECT_GT(disk_bytes(example_plan()), 24.0 * weights);
}

TEST(Estimate, AMuonCheckpointIsSmallerAndItsStepCostsMore) {
  const SegmentConfig adamw = example_plan().segments[0].config;
  const SegmentConfig muon =
      example_plan({{"/arms/0/optimizer/kind", "\"muon\""}}).segments[0].config;
  EXPECT_LT(checkpoint_bytes(muon), checkpoint_bytes(adamw));
  EXPECT_GT(step_flop(muon, 100), step_flop(adamw, 100));
}

// Preset P1 of the benchmark: linear layers 3 passes, head 2 passes.
TEST(Estimate, OperationsOfAStepAgreeWithACountByHand) {
  SegmentConfig config;
  DrafterConfig& d = config.drafter;
  d.hidden_size = 576;
  d.intermediate_size = 1536;
  d.layer_options["num_attention_heads"] = 9;
  d.layer_options["num_key_value_heads"] = 3;
  d.layer_options["head_dim"] = 64;
  d.layer_types = {"full_attention", "full_attention"};
  d.block_size = 8;
  d.vocab_size = d.draft_vocab_size = 49152;
  d.num_taps = 3;
  config.training.sequences_per_step = 4;
  config.training.anchors = 32;
  const double rows = 4 * 32 * 8, context = 4 * 256;
  const double row_weights = 576 * 576 * 2 + 576 * 192 * 2 + 576 * 1536 * 3;
  const double layers =
      2 * (rows * row_weights + context * 2 * 576 * 192) * 2 + 2 * context * 3 * 576 * 576;
  const double scores = 2 * 4 * rows * (128 + 8) * 576;
  const double head = 2.0 * 4 * 32 * 7 * 576 * 49152;
  EXPECT_DOUBLE_EQ(step_flop(config, 256), 3 * (layers + scores) + 2 * head);
  config.training.loss = parse_loss("kl", "test");
  EXPECT_DOUBLE_EQ(step_flop(config, 256), 3 * (layers + scores) + 3 * head);
}

TEST(Estimate, MeasuredRatesComeFromSegmentsThatEndedInOneLife) {
  ScratchFolder scratch;
  const RunFolder folder(scratch.path());
  const PlanRecord plan = example_plan({{"/seeds", "[1, 2, 3]"}});
  EXPECT_THAT(measured_seconds_per_step(folder, plan), IsEmpty());
  EventLog log(folder.events());
  const auto life = [&](size_t segment, double start, double end, const std::string& outcome) {
    log.start({plan.segments[segment].id, start, 0, "", 1});
    log.end({plan.segments[segment].id, 0, end, outcome});
  };
  life(0, 1000, 1020, "done");
  life(1, 1020, 1021, "interrupted");
  life(1, 1030, 1031, "done");
  EXPECT_THAT(measured_seconds_per_step(folder, plan),
              ElementsAre(Pair(step_identity(plan.segments[0].config), 0.2)));
}

TEST(Estimate, TimeIsSharedByJobsAndSaysWhetherItWasMeasured) {
  const PlanRecord plan = example_plan({{"/seeds", "[1, 2, 3, 4]"}});
  const std::map<std::string, double> rates = {{step_identity(plan.segments[0].config), 0.1}};
  const TimeEstimate one = estimate_time(plan, 1, 100, rates);
  EXPECT_TRUE(one.measured);
  EXPECT_DOUBLE_EQ(one.seconds, 40);
  EXPECT_DOUBLE_EQ(estimate_time(plan, 2, 100, rates).seconds, 20);
  EXPECT_DOUBLE_EQ(estimate_time(plan, 9, 100, rates).seconds, 10);
  EXPECT_FALSE(estimate_time(plan, 1, 100, {}).measured);
}

TEST(Estimate, ARateIsThatOfStepsThatCostTheSameWhateverTheOptimizersName) {
  const PlanRecord ce = example_plan(), dpace = example_plan({{"/training/loss", "\"dpace\""}}),
                   wide = example_plan({{"/training/anchors", "5"}}),
                   rate = example_plan({{"/arms/0/optimizer/learning_rate", "0.5"}});
  const std::map<std::string, double> rates = {{step_identity(ce.segments[0].config), 0.1}};
  EXPECT_TRUE(estimate_time(ce, 1, 100, rates).measured);
  EXPECT_TRUE(estimate_time(rate, 1, 100, rates).measured);
  EXPECT_FALSE(estimate_time(dpace, 1, 100, rates).measured);
  EXPECT_FALSE(estimate_time(wide, 1, 100, rates).measured);
}

TEST(Estimate, NoNumberOfJobsShortensAChainOfSegments) {
  PlanRecord plan;
  const auto add = [&](const char* id, const char* parent) {
    plan.segments.push_back({id, {}});
    plan.segments.back().config.parent = parent;
  };
  add("a", "");
  add("b", "a");
  add("c", "a");
  add("d", "c");
  add("alone", "");
  const std::vector<double> seconds = {10, 3, 5, 7, 20};
  EXPECT_EQ(wall_time(plan, seconds, 1), 45);
  EXPECT_EQ(wall_time(plan, seconds, 2), 22.5);
  EXPECT_EQ(wall_time(plan, seconds, 8), 22) << "10 + 5 + 7";
}

}  // namespace
}  // namespace draftlab

#include "reports/pipeline/pipeline_model.h"

#include <gmock/gmock.h>

#include <cmath>
#include <limits>

namespace draftlab {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kExact = 1e-12, kSolved = 1e-6;  // arithmetic; found by bisection

constexpr ServiceTimes kExponential = {ServiceTimes::kExponential, 0};
constexpr ServiceTimes kLognormal = {ServiceTimes::kLognormal, 0.5};

PipelineOptimizer optimizer(const std::string& name, double step_seconds, double batches) {
  return {name, step_seconds, 0, {batches, batches, batches}};
}

// Three producers of 0.08 batches/s, a consumer that could take 0.33, 8 days of six epochs to go.
PipelineSpec story() {
  PipelineSpec spec;
  spec.producers = {{3, 0.08, {}}};
  spec.queue_capacity = 16;
  spec.batches_per_epoch = 27648;
  spec.epochs = 6;
  spec.optimizers = {optimizer("AdamW", 1 / 0.33, 165888), optimizer("Muon", 1.2 / 0.33, 132710.4)};
  spec.hidden_states = {HiddenStates::kOnline};
  spec.topologies = {{3, 1}};
  return spec;
}

PipelineStage stage(std::vector<ProducerGroup> sources, double demand, int64_t capacity,
                    ServiceTimes step_times = {}) {
  return {std::move(sources), capacity, 1 / demand, step_times};
}

TEST(PipelineSteadyState, OfTheStoryIsBoundByTheProducers) {
  const SteadyState s = steady_state(stage({{3, 0.08, {}}}, 0.33, 16));
  EXPECT_NEAR(s.supply, 0.24, kExact);
  EXPECT_NEAR(s.demand, 0.33, kExact);
  EXPECT_NEAR(s.throughput, 0.24, kExact);
  EXPECT_NEAR(s.producers_busy, 1, kExact);
  EXPECT_NEAR(s.consumer_busy, 0.24 / 0.33, kExact);  // 72.7 %
  EXPECT_EQ(s.mean_queue, 0);
  EXPECT_TRUE(s.exact);
  EXPECT_EQ(who_waits(s), "consumer");
}

TEST(PipelineSteadyState, WithASlowConsumerTheQueueIsFullAndTheProducersWait) {
  const SteadyState s = steady_state(stage({{3, 0.08, {}}}, 0.18, 16));
  EXPECT_NEAR(s.throughput, 0.18, kExact);
  EXPECT_NEAR(s.producers_busy, 0.75, kExact);
  EXPECT_NEAR(s.consumer_busy, 1, kExact);
  EXPECT_EQ(s.mean_queue, 16);
  EXPECT_EQ(who_waits(s), "producers");
}

TEST(PipelineSteadyState, WithEqualRatesNobodyWaitsAndTheQueueStaysEmpty) {
  const SteadyState s = steady_state(stage({{3, 0.08, {}}}, 0.24, 16));
  EXPECT_NEAR(s.throughput, 0.24, kExact);
  EXPECT_EQ(s.mean_queue, 0);
  EXPECT_EQ(who_waits(s), "nobody");
}

// M/M/1/N with N = K + 2: p_n = (1 - rho) rho^n / (1 - rho^(N + 1)).
TEST(PipelineSteadyState, OfOneExponentialProducerIsMM1K) {
  for (const double rho : {0.5, 0.9, 1.7}) {
    const int64_t capacity = 5, most = capacity + 2;
    const auto p = [&](int64_t n) {
      return (1 - rho) * std::pow(rho, n) / (1 - std::pow(rho, most + 1));
    };
    double queue = 0;
    for (int64_t n = 2; n <= most; ++n) queue += p(n) * std::min<double>(n - 1, capacity);
    const SteadyState s =
        steady_state(stage({{1, 0.3 * rho, kExponential}}, 0.3, capacity, kExponential));
    EXPECT_NEAR(s.throughput, 0.3 * rho * (1 - p(most)), kExact);  // those not turned away
    EXPECT_NEAR(s.consumer_busy, 1 - p(0), kExact);
    EXPECT_NEAR(s.producers_busy, 1 - p(most), kExact);
    EXPECT_NEAR(s.mean_queue, queue, 10 * kExact);
    EXPECT_TRUE(s.exact);
    EXPECT_EQ(who_waits(s), "both");
  }
}

TEST(PipelineSteadyState, OfOneExponentialProducerAsFastAsTheConsumerIsUniform) {
  const SteadyState s = steady_state(stage({{1, 2, kExponential}}, 2, 3, kExponential));
  EXPECT_NEAR(s.throughput, 2 * 5. / 6, kExact);  // six states
  EXPECT_NEAR(s.mean_queue, (0 + 0 + 1 + 2 + 3 + 3) / 6., kExact);
}

// Two producers, room for one: 0 to 2 made batches come at 2r, the third at 2r too, then one
// producer rests and the fourth comes at r. With r equal to the consumer's rate the weights are 1,
// 2, 4, 8, 8.
TEST(PipelineSteadyState, OfTwoExponentialProducersIsTheirBirthDeathChain) {
  const SteadyState s = steady_state(stage({{2, 1, kExponential}}, 1, 1, kExponential));
  EXPECT_NEAR(s.throughput, 22. / 23, kExact);
  EXPECT_NEAR(s.producers_busy, 11. / 23, kExact);
  EXPECT_NEAR(s.mean_queue, 20. / 23, kExact);
}

TEST(PipelineSteadyState, OfExponentialTimesRisesToTheFluidLimitWithTheQueue) {
  double before = 0;
  for (const int64_t capacity : {1, 4, 16, 64, 10000}) {
    const SteadyState s =
        steady_state(stage({{3, 0.08, kExponential}}, 0.33, capacity, kExponential));
    EXPECT_GT(s.throughput, before - kExact);
    EXPECT_LE(s.throughput, 0.24 + kExact);
    before = s.throughput;
  }
  EXPECT_NEAR(before, 0.24, 1e-9);
}

TEST(PipelineSteadyState, IsOnlyABoundWhereNoFormulaIsKnown) {
  EXPECT_FALSE(steady_state(stage({{3, 0.08, kLognormal}}, 0.33, 16)).exact);
  EXPECT_FALSE(steady_state(stage({{3, 0.08, kExponential}}, 0.33, 16)).exact);
  EXPECT_FALSE(steady_state(stage({{1, 0.1, {}}, {1, 0.2, {}}}, 0.33, 1)).exact);
  EXPECT_TRUE(steady_state(stage({{1, 0.1, {}}, {1, 0.2, {}}}, 0.33, 2)).exact);
}

TEST(Pipeline, OfTheStoryTakesEightDays) {
  const PipelineCase adamw = predict_pipeline(story())[0];
  EXPECT_NEAR(adamw.seconds_left, 8 * 86400, 1e-6);
  EXPECT_NEAR(adamw.seconds_to_target.value, 8 * 86400, 1e-6);
}

TEST(Pipeline, FewerBatchesShortenAProducerBoundOnlineRunInFull) {
  const std::vector<PipelineCase> cases = predict_pipeline(story());
  ASSERT_EQ(cases.size(), 2u);
  EXPECT_NEAR(cases[1].seconds_to_target.value / cases[0].seconds_to_target.value, 0.8, kExact);
  EXPECT_NEAR(cases[0].fewer_batches_save, 1, 1e-9);
  EXPECT_NEAR(cases[0].longer_step_costs, 0, 1e-9);
}

TEST(Pipeline, TheIdleShareOfTheConsumerPaysForASlowerStep) {
  const PipelineSpec spec = story();
  const PipelineCase adamw = predict_pipeline(spec)[0];
  EXPECT_NEAR(adamw.free_slowdown, 0.33 / 0.24 - 1, kSolved);
  const auto slower = [&](double slowdown) {
    return seconds_for(
        165888, pipeline_phases(spec, HiddenStates::kOnline, {3, 1}, spec.optimizers[0], slowdown));
  };
  EXPECT_NEAR(slower(1.37), slower(1), 1e-6);
  EXPECT_NEAR(slower(1.5), slower(1) * 1.5 / 1.375, 1e-6);
}

TEST(Pipeline, FewerBatchesPayForAStepThatIsSlowerStill) {
  // 20 % fewer batches: every batch may take a quarter longer than AdamW's 1/0.24 s.
  const PipelineCase muon = predict_pipeline(story())[1];
  EXPECT_NEAR(muon.even_slowdown, 1.25 / 0.24 / (1.2 / 0.33) - 1, kSolved);
  PipelineSpec more = story();
  more.optimizers[1] = optimizer("Muon", 0.1, 165889);  // no step makes up for batches to wait for
  EXPECT_TRUE(std::isnan(predict_pipeline(more)[1].even_slowdown));
}

TEST(Pipeline, WhereTheConsumerSetsThePaceAStepCostsInFull) {
  PipelineSpec spec = story();
  spec.topologies = {{3, 1}};
  spec.producers[0].rate = 1;
  const std::vector<PipelineCase> cases = predict_pipeline(spec);
  EXPECT_NEAR(cases[0].free_slowdown, 0, kSolved);
  EXPECT_NEAR(cases[0].longer_step_costs, 1, 1e-9);
  EXPECT_NEAR(cases[1].seconds_to_target.value / cases[0].seconds_to_target.value, 0.8 * 1.2,
              kExact);
  EXPECT_NEAR(cases[1].even_slowdown, 1 / 0.96 - 1, kSolved);
}

TEST(Pipeline, CachedStatesAreProducedOnceAndThenBoundByStoreOrConsumer) {
  PipelineSpec spec = story();
  spec.hidden_states = {HiddenStates::kCached};
  spec.store.rate = 1.2;
  const PipelineCase adamw = predict_pipeline(spec)[0];
  ASSERT_EQ(adamw.phases.size(), 2u);
  EXPECT_EQ(adamw.phases[0].source, "producers");
  EXPECT_EQ(adamw.phases[1].source, "store");
  const double produced = 27648 / 0.24, read = 138240 / 0.33, all = produced + read;
  EXPECT_NEAR(adamw.seconds_to_target.value, all, 1e-6);
  EXPECT_NEAR(adamw.free_slowdown, 0, kSolved);  // the second phase has no idle share
  EXPECT_NEAR(adamw.longer_step_costs, read / all, 1e-9);
  EXPECT_NEAR(adamw.fewer_batches_save, 165888 / 0.33 / all, 1e-9);
  spec.store.rate = 0.2;  // a slow disk sets the pace, slower than the producers
  EXPECT_NEAR(predict_pipeline(spec)[0].seconds_to_target.value, produced + 138240 / 0.2, 1e-6);
}

TEST(Pipeline, ATargetWithinTheFirstEpochNeverReadsTheStore) {
  PipelineSpec spec = story();
  spec.hidden_states = {HiddenStates::kOnline, HiddenStates::kCached};
  spec.store.rate = 1.2;
  for (PipelineOptimizer& each : spec.optimizers) each.batches_to_target = {2400, 2400, 2400};
  const std::vector<PipelineCase> cases = predict_pipeline(spec);
  ASSERT_EQ(cases.size(), 4u);
  EXPECT_NEAR(cases[2].seconds_to_target.value, 10000, 1e-6);
  EXPECT_EQ(cases[0].seconds_to_target.value, cases[2].seconds_to_target.value);
}

TEST(Pipeline, WhatIsStoredAlreadyIsNotProduced) {
  PipelineSpec spec = story();
  spec.hidden_states = {HiddenStates::kCached};
  spec.store = {1.2, 27648, false};
  const PipelineCase adamw = predict_pipeline(spec)[0];
  ASSERT_EQ(adamw.phases.size(), 1u);
  EXPECT_NEAR(adamw.seconds_to_target.value, 165888 / 0.33, 1e-6);
}

TEST(Pipeline, FreedProducersTrainWhereTheyMay) {
  PipelineSpec spec = story();
  spec.hidden_states = {HiddenStates::kCached};
  spec.store = {100, 0, true};
  const PipelineCase adamw = predict_pipeline(spec)[0];
  EXPECT_NEAR(adamw.phases[0].steady.demand, 0.33, kExact);
  EXPECT_NEAR(adamw.phases[1].steady.demand, 4 * 0.33, kExact);
}

TEST(Pipeline, RatesScaleWithTheTopologyButTheUpdateDoesNot) {
  PipelineSpec spec = story();
  spec.topologies = {{3, 1}, {2, 2}, {1, 3}};
  spec.optimizers = {{"AdamW", 3, 0, {24, 24, 24}}, {"Muon", 3, 1, {24, 24, 24}}};
  const std::vector<PipelineCase> cases = predict_pipeline(spec);
  ASSERT_EQ(cases.size(), 6u);
  const double supplies[] = {0.24, 0.16, 0.08}, adamw[] = {3, 1.5, 1}, muon[] = {3, 2, 5. / 3};
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_NEAR(cases[2 * i].phases[0].steady.supply, supplies[i], kExact);
    EXPECT_NEAR(cases[2 * i].phases[0].stage.step_seconds, adamw[i], kExact);
    EXPECT_NEAR(cases[2 * i + 1].phases[0].stage.step_seconds, muon[i], kExact);
  }
}

TEST(Pipeline, TheIntervalOfTheBatchesIsThatOfTheTime) {
  PipelineSpec spec = story();
  spec.optimizers[0].batches_to_target = {2400, 1200, kInfinity};
  const PipelineInterval time = predict_pipeline(spec)[0].seconds_to_target;
  EXPECT_NEAR(time.low, 5000, 1e-6);
  EXPECT_NEAR(time.value, 10000, 1e-6);
  EXPECT_EQ(time.high, kInfinity);
  spec.hidden_states = {HiddenStates::kCached};
  spec.store.rate = 1;
  EXPECT_EQ(predict_pipeline(spec)[0].seconds_to_target.high, kInfinity);
}

}  // namespace
}  // namespace draftlab

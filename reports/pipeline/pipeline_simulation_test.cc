#include "reports/pipeline/pipeline_simulation.h"

#include <gmock/gmock.h>

#include <cmath>

namespace draftlab {
namespace {

constexpr double kRounding = 1e-9;  // of 100,000 added times

constexpr ServiceTimes kExponential = {ServiceTimes::kExponential, 0};

PipelineStage stage(std::vector<ProducerGroup> sources, double demand, int64_t capacity,
                    ServiceTimes step_times = {}) {
  return {std::move(sources), capacity, 1 / demand, step_times};
}

// Within twice the half 95 % interval: four standard errors, and the errors are small.
void expect_agrees(const Estimate& simulated, double exact, double most_error) {
  const double half = (simulated.high - simulated.low) / 2;
  EXPECT_LT(half, most_error);
  EXPECT_NEAR(simulated.mean, exact, 2 * half);
}

void expect_fixed_times_agree(const PipelineStage& each) {
  const SteadyState exact = steady_state(each);
  const PipelineSimulation s = simulate(each, {});
  EXPECT_NEAR(s.throughput.mean, exact.throughput, kRounding);
  EXPECT_NEAR(s.consumer_busy.mean, exact.consumer_busy, kRounding);
  EXPECT_NEAR(s.producers_busy.mean, exact.producers_busy, kRounding);
  EXPECT_NEAR(s.mean_queue.mean, exact.mean_queue, kRounding);
}

TEST(PipelineSimulation, OfTheStoryIsItsClosedForm) {
  const PipelineSimulation s = simulate(stage({{3, 0.08, {}}}, 0.33, 16), {});
  EXPECT_NEAR(s.throughput.mean, 0.24, kRounding);
  EXPECT_NEAR(s.consumer_busy.mean, 0.24 / 0.33, kRounding);
  EXPECT_NEAR(s.producers_busy.mean, 1, kRounding);
  EXPECT_NEAR(s.mean_queue.mean, 0, kRounding);
  EXPECT_EQ(s.max_queue, 0);
}

TEST(PipelineSimulation, OfFixedTimesAndProducersAlikeIsTheClosedForm) {
  for (const int64_t producers : {1, 2, 3, 7}) {
    for (const double demand : {0.05, 0.1, 0.33, 0.7, 2.0}) {
      for (const int64_t capacity : {1, 2, 16}) {
        expect_fixed_times_agree(stage({{producers, 0.1013, {}}}, demand, capacity));
      }
    }
  }
}

TEST(PipelineSimulation,
     OfFixedTimesAndDifferentProducersMeetsTheBoundIfTheQueueHoldsABatchOfEach) {
  for (const double demand : {1.2, 2.0}) {  // below and above the supply of 1.918
    const std::vector<ProducerGroup> sources = {{1, 1, {}}, {2, 0.309, {}}, {1, 0.3, {}}};
    const PipelineStage roomy = stage(sources, demand, 4);
    ASSERT_TRUE(steady_state(roomy).exact);
    const double bound = steady_state(roomy).throughput;
    // At the ends of the simulation four batches more or less are under way.
    EXPECT_NEAR(simulate(roomy, {}).throughput.mean / bound, 1, 4 / 90000.);
  }
  const PipelineStage cramped =
      stage({{1, 1, {}}, {1, 0.618, {}}, {1, 0.414, {}}, {1, 0.3019, {}}}, 2.34, 1);
  ASSERT_FALSE(steady_state(cramped).exact);
  EXPECT_LT(simulate(cramped, {}).throughput.mean, steady_state(cramped).throughput * 0.999);
}

TEST(PipelineSimulation, DrawsTheTimesOfEachProducerForItself) {
  // Independent producers together are as regular as one of their rate; with common times, a window
  // of sixteen would vary four times as much.
  const auto half = [](const PipelineStage& each) {
    const Estimate throughput = simulate(each, {.batches = 40000, .windows = 40}).throughput;
    return (throughput.high - throughput.low) / 2;
  };
  const double one = half(stage({{1, 1, kExponential}}, 100, 16));
  EXPECT_LT(half(stage({{16, 1. / 16, kExponential}}, 100, 16)), 2 * one);
}

TEST(PipelineSimulation, OfExponentialTimesAgreesWithMM1KWithinItsError) {
  for (const double rate : {0.2, 0.33, 0.5}) {
    const PipelineStage each = stage({{1, rate, kExponential}}, 0.33, 4, kExponential);
    const SteadyState exact = steady_state(each);
    const PipelineSimulation s = simulate(each, {.batches = 400000, .windows = 40});
    expect_agrees(s.throughput, exact.throughput, 0.005 * exact.throughput);
    expect_agrees(s.consumer_busy, exact.consumer_busy, 0.005);
    expect_agrees(s.producers_busy, exact.producers_busy, 0.005);
    expect_agrees(s.mean_queue, exact.mean_queue, 0.05);
    EXPECT_EQ(s.max_queue, 4);
  }
}

TEST(PipelineSimulation, OfSeveralExponentialProducersAgreesWithTheirChainWithinItsError) {
  const PipelineStage each = stage({{3, 0.08, kExponential}}, 0.26, 3, kExponential);
  const SteadyState exact = steady_state(each);
  const PipelineSimulation s = simulate(each, {.seed = 7, .batches = 400000, .windows = 40});
  expect_agrees(s.throughput, exact.throughput, 0.005 * exact.throughput);
  expect_agrees(s.producers_busy, exact.producers_busy, 0.005);
  expect_agrees(s.mean_queue, exact.mean_queue, 0.05);
}

TEST(PipelineSimulation, OfLognormalTimesHasTheirMeanAndDeviation) {
  // The consumer is never in the way, so that a window is the sum of its 100 production times.
  const PipelineStage each = stage({{1, 0.25, {ServiceTimes::kLognormal, 0.5}}}, 1000, 100);
  const PipelineSimulation s = simulate(each, {.batches = 100000, .windows = 1000});
  expect_agrees(s.throughput, 0.25, 0.002);
  double squares = 0;
  for (const PipelineWindow& window : s.windows) squares += std::pow(window.seconds - 400, 2);
  EXPECT_NEAR(std::sqrt(squares / 1000), 4 * 0.5 * 10, 2);  // 2.2 % is one standard error
}

TEST(PipelineSimulation, VariableTimesCostThroughputAndAQueueWinsItBack) {
  const ServiceTimes times = {ServiceTimes::kLognormal, 1};
  double before = 0;
  for (const int64_t capacity : {1, 4, 16, 256}) {
    const PipelineStage each = stage({{3, 0.08, times}}, 0.26, capacity, times);
    const double throughput = simulate(each, {}).throughput.mean;
    EXPECT_GT(throughput, before * 1.001);
    EXPECT_LT(throughput, steady_state(each).throughput * 1.01);  // 1 %: luck
    before = throughput;
  }
  EXPECT_GT(before, 0.235);
}

TEST(PipelineSimulation, AccountsForAllTimeAndAllBatches) {
  const PipelineStage each = stage({{2, 0.3, kExponential}}, 0.5, 3);
  const PipelineSimulation s = simulate(each, {.batches = 20000, .windows = 50});
  ASSERT_EQ(s.windows.size(), 50u);
  EXPECT_EQ(s.warmup, 5u);
  double end = 0;
  for (const PipelineWindow& window : s.windows) {
    EXPECT_EQ(window.batches, 400);
    EXPECT_NEAR(window.end_seconds, end + window.seconds, 1e-6);
    EXPECT_NEAR(window.producers_busy + window.producers_blocked, 1, kRounding);
    EXPECT_NEAR(window.consumer_busy * window.seconds, 400 * 2, 1e-6);
    EXPECT_LE(window.mean_queue, static_cast<double>(window.max_queue));
    EXPECT_LE(window.max_queue, 3);
    end = window.end_seconds;
  }
}

TEST(PipelineSimulation, ShowsTheQueueFillUp) {
  // Empty at first; of every batch made a half is left over, until 1000 wait.
  const PipelineSimulation s =
      simulate(stage({{1, 2, {}}}, 1, 1000), {.batches = 5000, .windows = 50});
  EXPECT_NEAR(s.windows[0].mean_queue, 50, 2);
  EXPECT_NEAR(s.windows[4].mean_queue, 450, 2);
  EXPECT_NEAR(s.windows.back().mean_queue, 1000, kRounding);
}

TEST(PipelineSimulation, IsAFunctionOfItsSeed) {
  const PipelineStage each = stage({{3, 0.08, kExponential}}, 0.33, 4, kExponential);
  const auto throughput = [&](uint64_t seed) {
    return simulate(each, {.seed = seed}).throughput.mean;
  };
  EXPECT_EQ(throughput(1), throughput(1));
  EXPECT_NE(throughput(1), throughput(2));
}

TEST(PipelineSimulation, ComparesStagesWithTheSameLuck) {
  const auto throughput = [](double scale) {
    return simulate(stage({{3, 0.08 * scale, kExponential}}, 0.33 * scale, 4, kExponential), {})
        .throughput.mean;
  };
  EXPECT_NEAR(throughput(2), 2 * throughput(1), kRounding);
}

TEST(PipelineSimulation, OfACaseAddsUpItsPhases) {
  PipelineSpec spec;
  spec.producers = {{3, 0.08, {}}};
  spec.queue_capacity = 16;
  spec.batches_per_epoch = 27648;
  spec.epochs = 6;
  spec.optimizers = {{"AdamW", 1 / 0.33, 0, {165888, 165888, 165888}}};
  spec.hidden_states = {HiddenStates::kCached};
  spec.store.rate = 1.2;
  spec.topologies = {{3, 1}};
  const PipelineCase exact = predict_pipeline(spec)[0];
  const SimulatedCase fixed = simulate(exact, spec.simulation);
  ASSERT_EQ(fixed.phases.size(), 2u);
  EXPECT_NEAR(fixed.seconds_to_target.value / exact.seconds_to_target.value, 1, kRounding);
  spec.producers[0].times = spec.step_times = {ServiceTimes::kLognormal, 0.8};
  const PipelineCase bound = predict_pipeline(spec)[0];
  EXPECT_FALSE(bound.exact);
  const PipelineInterval varied = simulate(bound, spec.simulation).seconds_to_target;
  EXPECT_LT(varied.low, varied.value);
  EXPECT_LT(varied.value, varied.high);
  EXPECT_GT(varied.value, bound.seconds_to_target.value * 0.99);
}

TEST(PipelineSimulation, PricesASlowerStepThatIsFreeInTheLimit) {
  PipelineSpec spec;
  spec.producers = {{3, 0.08, {}}};
  spec.queue_capacity = 2;
  spec.batches_per_epoch = 1000;
  spec.epochs = 1;
  spec.optimizers = {{"AdamW", 1 / 0.33, 0, {1000, 1000, 1000}}};
  spec.hidden_states = {HiddenStates::kOnline};
  spec.topologies = {{3, 1}};
  const auto cost = [&] { return simulate(predict_pipeline(spec)[0], {}).free_slowdown_cost; };
  EXPECT_NEAR(cost(), 0, 1e-6);
  spec.producers[0].times = {ServiceTimes::kLognormal, 0.6};
  const double cramped = cost();
  EXPECT_GT(cramped, 0.03);
  spec.queue_capacity = 64;
  EXPECT_LT(cost(), cramped / 3);
}

}  // namespace
}  // namespace draftlab

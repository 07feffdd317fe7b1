#include "optim/optimizer.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "base/stopwatch.h"
#include "source_dir.h"
#include "testing/every_configuration.h"

namespace draftlab {
namespace {

using ::testing::HasSubstr;

Optimizer make(const OptimizerConfig& config, const NamedTensors& weights) {
  return Optimizer(config, small_table(config), weights);
}

TEST(Optimizer, MatricesTakeMuonAndVectorsAdamWWithTheNestedOptions) {
  const OptimizerConfig config =
      config_of(R"({"kind": "muon", "adamw": {"learning_rate": 0.5, "epsilon": 1e-30}})");
  const NamedTensors start = random_tensors(1), weights = copy_of(start), g = random_tensors(2);
  Optimizer optimizer = make(config, weights);
  optimizer.step(g, 1);
  // AdamW's first step is the rate, by sign.
  EXPECT_LE(
      ((weights.at("norm.weight") - start.at("norm.weight")) + 0.5 * g.at("norm.weight").sign())
          .abs()
          .max()
          .item<double>(),
      1e-12);
  // deepspeed#8441: where the orthogonalization was skipped, singular values differed by orders.
  const at::Tensor moved =
      (start.at("layers.1.up.weight") - weights.at("layers.1.up.weight")) / 0.02;
  EXPECT_LE(at::linalg_svdvals(moved).max().item<double>(), 1.21);
  EXPECT_GE(at::linalg_svdvals(moved).min().item<double>(), 0.6);
}

TEST(Optimizer, TheScheduleMultipliesTheRatesOfAllRules) {
  // deepspeed#7713: a scheduler that gave both groups one rate.
  const OptimizerConfig config = config_of(R"({"kind": "muon", "adamw": {"learning_rate": 0.5}})");
  const NamedTensors start = random_tensors(1), full = copy_of(start), half = copy_of(start);
  make(config, full).step(random_tensors(2), 1);
  make(config, half).step(random_tensors(2), 0.5);
  for (const auto& [name, tensor] : start)
    EXPECT_LE(relative_distance(2 * (half.at(name) - tensor), full.at(name) - tensor), 1e-12);
}

TEST(Optimizer, FrozenTensorsStayAndNeedNoGradient) {
  const OptimizerConfig config = config_of(R"({"kind": "muon"})");
  const NamedTensors start = random_tensors(1), weights = copy_of(start);
  Optimizer optimizer(config, route(small_drafter(), config, {{"fc.*", 0, 0, "frozen"}}, ""),
                      weights);
  NamedTensors g = random_tensors(2);
  g.erase("fc.weight");
  optimizer.step(g, 1);
  EXPECT_TRUE(at::equal(weights.at("fc.weight"), start.at("fc.weight")));
  EXPECT_FALSE(at::equal(weights.at("norm.weight"), start.at("norm.weight")));
  EXPECT_FALSE(optimizer.state().contains("fc.weight/momentum"));
}

TEST(Optimizer, UpdatesATiedTensorOnce) {
  // Megatron-LM#4641: the replica of a tied embedding went to another rule than the embedding.
  const OptimizerConfig config = config_of(R"({"kind": "muon"})");
  const std::vector<ParameterShape> shapes = {{"embed.weight", {6, 4}}, {"head.weight", {6, 4}}};
  at::manual_seed(3);
  const at::Tensor w = at::randn({6, 4}), alone = w.clone(), g = at::randn({6, 4});
  Optimizer tied(config, route(shapes, config, {}, ""), {{"embed.weight", w}, {"head.weight", w}});
  tied.step({{"embed.weight", g}}, 1);
  Optimizer single(config, route({shapes[0]}, config, {}, ""), {{"embed.weight", alone}});
  single.step({{"embed.weight", g}}, 1);
  EXPECT_TRUE(at::equal(w, alone));
  EXPECT_TRUE(same_bits(tied.state(), single.state()));
  EXPECT_THAT(error_of([&] {
                tied.step({{"embed.weight", g}, {"head.weight", 2 * g}}, 1);
              }),
              HasSubstr("head.weight: has a gradient of its own"));
  EXPECT_TRUE(at::equal(w, alone));
  const auto apart = route(shapes, config, {{"head.*", 0, 0, "adamw"}}, "");
  EXPECT_THAT(error_of([&] {
                Optimizer(config, apart, {{"embed.weight", w}, {"head.weight", w}});
              }),
              HasSubstr("head.weight: is the same tensor as embed.weight"));
}

TEST(Optimizer, RefusesStateThatIsNotItsOwn) {
  Optimizer optimizer = make(config_of(R"({"kind": "muon"})"), random_tensors(1));
  const NamedTensors good = copy_of(optimizer.state());
  const auto load = [&](const std::function<void(NamedTensors&)>& spoil) {
    NamedTensors state = copy_of(good);
    spoil(state);
    return error_of([&] { optimizer.load_state(state); });
  };
  EXPECT_THAT(load([](NamedTensors& s) { s.erase("fc.weight/momentum"); }),
              HasSubstr("fc.weight/momentum: is missing"));
  EXPECT_THAT(load([](NamedTensors& s) { s["fc.weight/exp_avg"] = at::zeros({1}); }),
              HasSubstr("fc.weight/exp_avg: is no state"));
  EXPECT_THAT(load([](NamedTensors& s) {
                s["fc.weight/momentum"] = at::ones({4, 6}, at::kDouble);
              }),
              HasSubstr("fc.weight/momentum: has another shape"));
  EXPECT_THAT(load([](NamedTensors& s) { s["fc.weight/momentum_sum"] = s["fc.weight/momentum"]; }),
              HasSubstr("fc.weight/momentum_sum: is no state"));
  EXPECT_THAT(
      load([](NamedTensors& s) { s["norm.weight/exp_avg"] = at::ones({6}, at::kBFloat16); }),
      HasSubstr("norm.weight/exp_avg"));
  // microsoft/dion's change log: a counter in bfloat16 stops at 256.
  EXPECT_THAT(load([](NamedTensors& s) {
                s["norm.weight/exp_avg_steps"] = at::scalar_tensor(1, at::kBFloat16);
              }),
              HasSubstr("norm.weight/exp_avg_steps"));
  EXPECT_TRUE(same_bits(optimizer.state(), good));  // nothing was half loaded
}

TEST(Optimizer, RefusesATableThatDoesNotFitTheWeights) {
  const OptimizerConfig muon = config_of(R"({"kind": "muon"})");
  const std::vector<Route> table = small_table(muon);
  const auto build = [&](NamedTensors weights, const std::vector<Route>& rows) {
    return error_of([&] { Optimizer(muon, rows, weights); });
  };
  NamedTensors more = random_tensors(1), fewer = more, other = more, half = more, strided = more;
  more["head.weight"] = at::zeros({2, 2});
  fewer.erase("norm.weight");
  other["fc.weight"] = at::zeros({4, 6});
  half["fc.weight"] = half["fc.weight"].to(at::kHalf);
  strided["fc.weight"] = at::zeros({4, 6}).t();
  EXPECT_THAT(build(more, table), HasSubstr("head.weight: is not in the routing table"));
  EXPECT_THAT(build(fewer, table), HasSubstr("norm.weight"));
  EXPECT_THAT(build(other, table), HasSubstr("fc.weight: has shape [4, 6]"));
  EXPECT_THAT(build(half, table), HasSubstr("fc.weight: must be float32, float64 or bfloat16"));
  EXPECT_THAT(build(strided, table), HasSubstr("fc.weight: must be contiguous"));
  std::vector<Route> foreign = table;
  foreign[0].rule = "normuon";
  EXPECT_THAT(build(random_tensors(1), foreign), HasSubstr("not one of muon"));
}

TEST(Optimizer, AMissingGradientChangesNothing) {
  const NamedTensors start = random_tensors(1), weights = copy_of(start);
  Optimizer optimizer = make(config_of(R"({"kind": "muon"})"), weights);
  const NamedTensors state = copy_of(optimizer.state());
  NamedTensors g = random_tensors(2);
  g.erase("norm.weight");
  EXPECT_THAT(error_of([&] { optimizer.step(g, 1); }), HasSubstr("norm.weight: has no gradient"));
  EXPECT_TRUE(same_bits(start, weights));
  EXPECT_TRUE(same_bits(state, optimizer.state()));
}

TEST(Optimizer, CountsStepsBeyondWhatSixteenBitFloatsHold) {
  // tests/golden/repro.json, bf16_step_counter.
  const Json golden = read_json(DRAFTLAB_SOURCE_DIR "/tests/golden/repro.json");
  const OptimizerConfig config = config_of(R"({"kind": "adamw", "learning_rate": 1,
      "beta1": 0, "beta2": 0.999, "epsilon": 1e-30, "weight_decay": 0})");
  const at::Tensor w = at::zeros({1}, at::kDouble);
  Optimizer optimizer(config, route({{"w", {1}}}, config, {}, ""), {{"w", w}});
  NamedTensors state = copy_of(optimizer.state());
  state.at("w/exp_avg_steps").fill_(9999);
  state.at("w/exp_avg_sq_steps").fill_(9999);
  optimizer.load_state(state);
  optimizer.step({{"w", at::ones({1}, at::kDouble)}}, 1);
  // u = g / (sqrt(.001) / sqrt(1 - beta2^10000))
  EXPECT_NEAR(-w.item<double>() * std::sqrt(0.001),
              json_number(golden.at("bf16_step_counter").at("right_sqrt_bc2_at_10000"), ""), 1e-12);
}

TEST(Optimizer, SixteenBitWeightsLoseUpdatesBelowTheirResolution) {
  // pytorch/ao#1124: known, and the reason to train float32 weights.
  const OptimizerConfig config =
      config_of(R"({"kind": "adamw", "learning_rate": 1e-3, "weight_decay": 0})");
  const at::Tensor w = at::ones({4}, at::kBFloat16);
  Optimizer optimizer(config, route({{"w", {4}}}, config, {}, ""), {{"w", w}});
  optimizer.step({{"w", at::ones({4})}}, 1);
  EXPECT_TRUE(at::equal(w, at::ones({4}, at::kBFloat16)));
  EXPECT_GT(optimizer.state().at("w/exp_avg").min().item<double>(), 0);
}

TEST(Optimizer, OrthogonalizationIsAPartOfTheStepOnAnyNumberOfThreads) {
  const int before = at::get_num_threads();
  for (const int threads : {1, 2, 3}) {
    at::set_num_threads(threads);
    for (const char* kind : {"muon", "soap", "shampoo", "adamw"}) {
      const OptimizerConfig config = config_of(R"({"kind": ")" + std::string(kind) + "\"}");
      Optimizer optimizer = make(config, random_tensors(1));
      for (int step = 0; step < 2; ++step) {  // each counts for itself
        Stopwatch watch;
        optimizer.step(random_tensors(2), 1);
        const double seconds = watch.lap();
        EXPECT_LT(optimizer.orthogonalization_seconds(), seconds) << kind << ' ' << threads;
        if (config.kind == "adamw") {
          EXPECT_EQ(optimizer.orthogonalization_seconds(), 0);
        } else {
          EXPECT_GT(optimizer.orthogonalization_seconds(), 0) << kind << ' ' << threads;
        }
      }
    }
  }
  at::set_num_threads(before);
}

}  // namespace
}  // namespace draftlab

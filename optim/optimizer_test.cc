#include "optim/optimizer.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "base/error.h"
#include "optim/golden_trajectory.h"

namespace draftlab {
namespace {

using ::testing::HasSubstr;

const char* kKinds[] = {"adamw", "muon", "normuon", "turbo_muon"};

const std::vector<ParameterShape> kShapes = {
    {"fc.weight", {6, 4}}, {"norm.weight", {6}}, {"up.weight", {5, 9}}};

NamedTensors random(uint64_t seed, at::ScalarType dtype = at::kDouble) {
  at::manual_seed(seed);
  NamedTensors tensors;
  for (const ParameterShape& p : kShapes) tensors[p.name] = at::randn(p.shape, dtype);
  return tensors;
}

NamedTensors copy(const NamedTensors& tensors) {
  NamedTensors copies;
  for (const auto& [name, tensor] : tensors) copies[name] = tensor.clone();
  return copies;
}

bool same_bits(const NamedTensors& a, const NamedTensors& b) {
  return a.size() == b.size() &&
         std::equal(a.begin(), a.end(), b.begin(), [](const auto& x, const auto& y) {
           return x.first == y.first && at::equal(x.second, y.second);
         });
}

OptimizerConfig config(const std::string& text) {
  return parse_optimizer_config(parse_json(text, "test"), "test: optimizer");
}

OptimizerConfig of_kind(const std::string& kind) {
  const std::string decay = kind == "adamw" ? "" : R"(, "adamw": {"weight_decay": 0.2})";
  return config(R"({"kind": ")" + kind + R"(", "learning_rate": 0.01, "weight_decay": 0.1)" +
                decay + "}");
}

Optimizer make(const OptimizerConfig& config, const NamedTensors& parameters,
               const std::vector<RoutingRule>& rules = default_routing()) {
  return Optimizer(config, route(kShapes, config, rules, "routing"), parameters);
}

template <typename Action>
std::string error_of(Action action) {
  try {
    action();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

// Three steps of one weight against the golden run.
void expect_golden_trajectory(const char* run, const OptimizerConfig& config) {
  for (const auto& [rows, cols] : {std::pair<int64_t, int64_t>{4, 6}, {6, 4}, {5, 5}}) {
    const Json& record = golden_trajectories().at("runs").at(run).at(std::to_string(rows) + "x" +
                                                                     std::to_string(cols));
    const NamedTensors parameters = {{"w", golden_matrix(record.at("W0"), rows, cols)}};
    Optimizer optimizer(config, route({{"w", {rows, cols}}}, config, default_routing(), "routing"),
                        parameters);
    for (int64_t t = 0; t < 3; ++t) {
      optimizer.step({{"w", golden_gradient(rows, cols, t)}}, 1);
      const Json& row = record.at("trajectory").at(t);
      const NamedTensors state = optimizer.state();
      const auto expect = [&](const char* key, const at::Tensor& x) {
        EXPECT_LE(largest_difference(x, golden_matrix(row.at(key), x.size(0), x.size(1))), 1e-10)
            << run << " " << key;
      };
      expect("W", parameters.at("w"));
      if (config.kind == "adamw") {
        expect("m", state.at("w/exp_avg"));
        expect("v", state.at("w/exp_avg_sq"));
      } else {
        expect("momentum", state.at("w/momentum"));
      }
      if (config.kind == "normuon") expect("v", state.at("w/row_mean_square"));
    }
  }
}

TEST(Optimizer, EqualsTheGoldenTrajectoriesWithThePublishedEpsilons) {
  expect_golden_trajectory(
      "adamw(lr=1e-2,b=(.9,.95),eps=1e-8,wd=.1)",
      config(R"({"kind": "adamw", "learning_rate": 0.01, "beta2": 0.95, "weight_decay": 0.1})"));
  expect_golden_trajectory(
      "muon_kj(lr=.02,wd=.1,mu=.95,nesterov,lerp,original)",
      config(R"({"kind": "muon", "weight_decay": 0.1, "epsilon": "published"})"));
  expect_golden_trajectory(
      "muon_kj_no_nesterov(lr=.02,wd=.1,mu=.95,lerp,original)",
      config(
          R"({"kind": "muon", "weight_decay": 0.1, "epsilon": "published", "nesterov": false})"));
  expect_golden_trajectory(
      "normuon_official(lr=.02,wd=.1,mu=.95,b2=.95)",
      config(R"({"kind": "normuon", "weight_decay": 0.1, "epsilon": "published"})"));
  expect_golden_trajectory(
      "turbo_muon(lr=.02,wd=.1,mu=.95,nesterov,lerp,original,AOL4)",
      config(R"({"kind": "turbo_muon", "weight_decay": 0.1, "epsilon": "published"})"));
}

TEST(Optimizer, EqualsTheGoldenFirstStepOfAZeroGradient) {
  const Json& golden = golden_trajectories().at("zero_grad_first_step");
  for (const char* kind : {"muon", "normuon", "turbo_muon"}) {
    const OptimizerConfig config =
        parse_optimizer_config(JsonObject{{"kind", kind}, {"weight_decay", 0.1}}, "test");
    const NamedTensors parameters = {{"w", golden_matrix(golden.at("W0"), 4, 6)}};
    Optimizer optimizer(config, route({{"w", {4, 6}}}, config, default_routing(), "routing"),
                        parameters);
    optimizer.step({{"w", at::zeros({4, 6}, at::kDouble)}}, 1);
    EXPECT_LE(largest_difference(parameters.at("w"),
                                 golden_matrix(golden.at("expect_after_1_step_lr.02_wd.1"), 4, 6)),
              1e-15);
  }
}

TEST(Optimizer, ZeroGradientsLeaveOnlyTheDecayOfTheBaseRate) {
  for (const char* kind : kKinds) {
    const NamedTensors start = random(1), parameters = copy(start);
    Optimizer optimizer = make(of_kind(kind), parameters);
    NamedTensors zero;
    for (const auto& [name, tensor] : start) zero[name] = at::zeros_like(tensor);
    optimizer.step(zero, 0.5);
    const bool adamw = std::string(kind) == "adamw";
    // 6 x 4 has the scale 1.22, which the decay does not see.
    EXPECT_LE((parameters.at("fc.weight") - start.at("fc.weight") * (1 - 0.01 * 0.5 * 0.1))
                  .abs()
                  .max()
                  .item<double>(),
              1e-15)
        << kind;
    const double vector_decay = adamw ? 1 - 0.01 * 0.5 * 0.1 : 1 - 3e-4 * 0.5 * 0.2;
    EXPECT_LE((parameters.at("norm.weight") - start.at("norm.weight") * vector_decay)
                  .abs()
                  .max()
                  .item<double>(),
              1e-15)
        << kind;
    for (const auto& [name, tensor] : optimizer.state()) {
      if (name == "step") continue;
      EXPECT_EQ(tensor.abs().max().item<double>(), 0) << kind << " " << name;
    }
  }
}

TEST(Optimizer, NothingMovesWhenTheScheduleIsZero) {
  for (const char* kind : kKinds) {
    const NamedTensors start = random(1), parameters = copy(start);
    Optimizer optimizer = make(of_kind(kind), parameters);
    optimizer.step(random(2), 0);
    EXPECT_TRUE(same_bits(start, parameters)) << kind;
  }
}

TEST(Optimizer, MatricesTakeMuonAndVectorsAdamWWithTheNestedOptions) {
  const NamedTensors start = random(1), parameters = copy(start);
  Optimizer optimizer = make(
      config(R"({"kind": "muon", "adamw": {"learning_rate": 0.5, "epsilon": 1e-30}})"), parameters);
  const NamedTensors g = random(2);
  optimizer.step(g, 1);
  // AdamW's first step is the rate, by sign.
  EXPECT_LE(
      (parameters.at("norm.weight") - (start.at("norm.weight") - 0.5 * g.at("norm.weight").sign()))
          .abs()
          .max()
          .item<double>(),
      1e-12);
  const at::Tensor moved = (start.at("up.weight") - parameters.at("up.weight")) / 0.02;
  EXPECT_LE(at::linalg_svdvals(moved).max().item<double>(), 1.21);
  EXPECT_GE(at::linalg_svdvals(moved).min().item<double>(), 0.6);
  const NamedTensors state = optimizer.state();
  EXPECT_TRUE(state.contains("fc.weight/momentum") && state.contains("norm.weight/exp_avg_sq"));
  EXPECT_EQ(state.size(), 5);
}

TEST(Optimizer, FrozenTensorsStayAndNeedNoGradient) {
  const NamedTensors start = random(1), parameters = copy(start);
  Optimizer optimizer =
      make(of_kind("muon"), parameters,
           {{"fc.*", 0, 0, "frozen"}, {"*", 2, 2, "matrix"}, {"*", 0, 0, "adamw"}});
  NamedTensors g = random(2);
  g.erase("fc.weight");
  optimizer.step(g, 1);
  EXPECT_TRUE(at::equal(parameters.at("fc.weight"), start.at("fc.weight")));
  EXPECT_FALSE(at::equal(parameters.at("up.weight"), start.at("up.weight")));
  EXPECT_FALSE(optimizer.state().contains("fc.weight/momentum"));
}

TEST(Optimizer, TwoRunsGiveTheSameBits) {
  for (const char* kind : kKinds) {
    const NamedTensors a = random(1, at::kFloat), b = copy(a);
    Optimizer first = make(of_kind(kind), a), second = make(of_kind(kind), b);
    for (uint64_t t = 0; t < 4; ++t) first.step(random(10 + t, at::kFloat), 0.9);
    for (uint64_t t = 0; t < 4; ++t) second.step(random(10 + t, at::kFloat), 0.9);
    EXPECT_TRUE(same_bits(a, b)) << kind;
    EXPECT_TRUE(same_bits(first.state(), second.state())) << kind;
  }
}

TEST(Optimizer, ContinuesFromSavedStateWithTheSameBits) {
  for (const char* kind : kKinds) {
    const NamedTensors parameters = random(1, at::kFloat);
    Optimizer whole = make(of_kind(kind), parameters);
    for (uint64_t t = 0; t < 3; ++t) whole.step(random(10 + t, at::kFloat), 1);
    const NamedTensors saved = copy(whole.state()), restored = copy(parameters);
    Optimizer resumed = make(of_kind(kind), restored);
    resumed.load_state(saved);
    EXPECT_EQ(resumed.state().at("step").item<int64_t>(), 3);
    for (uint64_t t = 3; t < 6; ++t) {
      whole.step(random(10 + t, at::kFloat), 1);
      resumed.step(random(10 + t, at::kFloat), 1);
    }
    EXPECT_TRUE(same_bits(parameters, restored)) << kind;
    EXPECT_TRUE(same_bits(whole.state(), resumed.state())) << kind;
  }
}

TEST(Optimizer, RefusesStateThatIsNotItsOwn) {
  const NamedTensors parameters = random(1);
  Optimizer optimizer = make(of_kind("muon"), parameters);
  const NamedTensors good = copy(optimizer.state());
  const auto load = [&](const std::function<void(NamedTensors&)>& spoil) {
    NamedTensors state = copy(good);
    spoil(state);
    return error_of([&] { optimizer.load_state(state); });
  };
  EXPECT_THAT(load([](NamedTensors& s) { s.erase("up.weight/momentum"); }),
              HasSubstr("up.weight/momentum: is missing"));
  EXPECT_THAT(load([](NamedTensors& s) { s["up.weight/exp_avg"] = at::zeros({1}); }),
              HasSubstr("up.weight/exp_avg: is no state"));
  EXPECT_THAT(load([](NamedTensors& s) {
                s["up.weight/momentum"] = at::ones({9, 5}, at::kDouble);
              }),
              HasSubstr("up.weight/momentum"));
  EXPECT_THAT(
      load([](NamedTensors& s) { s["norm.weight/exp_avg"] = at::ones({6}, at::kBFloat16); }),
      HasSubstr("norm.weight/exp_avg"));
  EXPECT_THAT(load([](NamedTensors& s) { s["step"] = at::scalar_tensor(1, at::kBFloat16); }),
              HasSubstr("step"));
  EXPECT_TRUE(same_bits(optimizer.state(), good));  // nothing was half loaded
}

TEST(Optimizer, RefusesATableThatDoesNotFitTheWeights) {
  const OptimizerConfig muon = of_kind("muon");
  const std::vector<Route> table = route(kShapes, muon, default_routing(), "routing");
  const auto build = [&](NamedTensors parameters, const std::vector<Route>& rows) {
    return error_of([&] { Optimizer(muon, rows, parameters); });
  };
  NamedTensors more = random(1), fewer = random(1), other = random(1), half = random(1);
  more["head.weight"] = at::zeros({2, 2});
  fewer.erase("norm.weight");
  other["up.weight"] = at::zeros({9, 5});
  half["fc.weight"] = half["fc.weight"].to(at::kBFloat16);
  EXPECT_THAT(build(more, table), HasSubstr("head.weight: is not in the routing table"));
  EXPECT_THAT(build(fewer, table), HasSubstr("norm.weight"));
  EXPECT_THAT(build(other, table), HasSubstr("up.weight: has shape [9, 5]"));
  EXPECT_THAT(build(half, table), HasSubstr("fc.weight: must be float32"));
  std::vector<Route> foreign = table;
  foreign[0].rule = "normuon";
  EXPECT_THAT(build(random(1), foreign), HasSubstr("not one of muon"));
}

TEST(Optimizer, AMissingGradientChangesNothing) {
  const NamedTensors start = random(1), parameters = copy(start);
  Optimizer optimizer = make(of_kind("muon"), parameters);
  NamedTensors g = random(2);
  g.erase("up.weight");
  EXPECT_THAT(error_of([&] { optimizer.step(g, 1); }), HasSubstr("up.weight: has no gradient"));
  EXPECT_TRUE(same_bits(start, parameters));
  EXPECT_EQ(optimizer.state().at("step").item<int64_t>(), 0);
}

TEST(Optimizer, NotANumberReachesTheWeights) {
  for (const char* kind : kKinds) {
    const NamedTensors parameters = random(1, at::kFloat);
    Optimizer optimizer = make(of_kind(kind), parameters);
    NamedTensors g = random(2, at::kFloat);
    g["fc.weight"][1][2] = NAN;
    optimizer.step(g, 1);
    EXPECT_TRUE(parameters.at("fc.weight").isnan().any().item<bool>()) << kind;
  }
}

TEST(Optimizer, Float32AgreesWithFloat64) {
  for (const char* kind : kKinds) {
    const NamedTensors exact = random(1);
    NamedTensors rounded;
    for (const auto& [name, tensor] : exact) rounded[name] = tensor.to(at::kFloat);
    Optimizer in_double = make(of_kind(kind), exact), in_float = make(of_kind(kind), rounded);
    for (uint64_t t = 0; t < 5; ++t) {
      NamedTensors g = random(10 + t), g32;
      for (const auto& [name, tensor] : g) g32[name] = tensor.to(at::kFloat);
      in_double.step(g, 1);
      in_float.step(g32, 1);
    }
    for (const auto& [name, tensor] : exact) {
      EXPECT_LE(((rounded.at(name) - tensor).norm() / tensor.norm()).item<double>(), 1e-4)
          << kind << " " << name;
    }
    EXPECT_EQ(in_float.state().at("norm.weight/exp_avg").scalar_type(), at::kFloat);
  }
}

}  // namespace
}  // namespace draftlab

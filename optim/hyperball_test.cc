#include "optim/hyperball.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "source_dir.h"
#include "testing/every_configuration.h"
#include "testing/golden_trajectory.h"

namespace draftlab {
namespace {

using ::testing::HasSubstr;

at::Tensor random(at::IntArrayRef shape, uint64_t seed) {
  at::manual_seed(seed);
  return at::randn(shape, at::kDouble);
}

// AdamH, MuonH, NorMuonH, Turbo-MuonH, SOAPH.
const std::vector<std::string> kKinds = {"adamw", "muon", "normuon", "turbo_muon", "soap"};

OptimizerConfig sphere(const std::string& kind, const std::string& more = "") {
  return config_of(R"({"kind": ")" + kind + R"(", "hyperball": true, "learning_rate": 0.02)" +
                   more + "}");
}

// The weight after a step for each gradient; a split into row blocks, unless it is empty.
at::Tensor trained(const OptimizerConfig& config, const at::Tensor& start,
                   const std::vector<at::Tensor>& gradients, std::vector<int64_t> split = {}) {
  const at::Tensor w = start.clone();
  const RoutingRule rule{"*", 0, 0, "matrix", std::move(split)};
  Optimizer optimizer(config, route({{"w", w.sizes().vec()}}, config, {rule}, "test"), {{"w", w}});
  for (const at::Tensor& gradient : gradients) optimizer.step({{"w", gradient}}, 1);
  return w;
}

std::vector<at::Tensor> gradients(at::IntArrayRef shape, uint64_t count) {
  std::vector<at::Tensor> all;
  for (uint64_t t = 0; t < count; ++t) all.push_back(random(shape, 100 + t));
  return all;
}

at::Tensor n(const at::Tensor& x) { return x / (x.norm() + 1e-10); }

TEST(Hyperball, TheNormOfEveryMatrixStaysOverAThousandStepsOfFloat32) {
  for (const std::string& kind : kKinds) {
    const OptimizerConfig config = sphere(kind);
    const at::Tensor w = random({20, 12}, 1).to(at::kFloat) * 0.04;
    const RoutingRule rule{"*", 0, 0, "matrix", {8, 8, 4}};
    Optimizer optimizer(config, route({{"w", {20, 12}}}, config, {rule}, "test"), {{"w", w}});
    const auto norms = [&] {
      std::vector<double> all;
      for (const at::Tensor& block : w.to(at::kDouble).split_with_sizes({8, 8, 4}))
        all.push_back(block.norm().item<double>());
      return all;
    };
    const std::vector<double> before = norms();
    const at::Tensor start = w.clone();
    for (uint64_t t = 0; t < 1000; ++t) {
      optimizer.step({{"w", random({20, 12}, t).to(at::kFloat)}}, 1);
      if (t % 50 != 0 && t != 999) continue;
      const std::vector<double> after = norms();
      for (size_t i = 0; i < 3; ++i) ASSERT_NEAR(after[i] / before[i], 1, 1e-6) << kind << t;
    }
    EXPECT_GT(relative_distance(w, start), 0.1) << kind << " has moved";
  }
}

TEST(Hyperball, NeitherTheScaleOfTheGradientsNorThatOfTheWeightsMatters) {
  // Of full rank: SOAP's basis is free where an eigenvalue is repeated.
  const at::Tensor start = random({5, 5}, 1);
  std::vector<at::Tensor> g = gradients({5, 5}, 5), scaled;
  for (const at::Tensor& each : g) scaled.push_back(1e-3 * each);
  for (const std::string& kind : kKinds) {
    const bool adam = kind == "adamw" || kind == "soap";  // whose floor sees the gradients' scale
    const OptimizerConfig config = sphere(kind, adam ? R"(, "epsilon": 1e-30)" : "");
    const at::Tensor w = trained(config, start, g);
    EXPECT_LE(relative_distance(trained(config, start, scaled), w), 1e-9) << kind;
    EXPECT_LE(relative_distance(trained(config, 7 * start, g), 7 * w), 1e-9) << kind;
  }
}

TEST(Hyperball, IsThePlainFormOnWhatAdamWWouldHaveMoved) {
  const OptimizerConfig config = sphere("adamw", R"(, "beta1": 0.8, "beta2": 0.9)");
  const std::vector<at::Tensor> g = gradients({6, 4}, 6);
  const at::Tensor start = random({6, 4}, 1);
  at::Tensor w = start.clone(), m = at::zeros_like(w), v = at::zeros_like(w);
  for (size_t t = 0; t < g.size(); ++t) {
    m = 0.8 * m + 0.2 * g[t];
    v = 0.9 * v + 0.1 * g[t] * g[t];
    const auto steps = static_cast<double>(t + 1);
    const at::Tensor u =
        m / (1 - std::pow(0.8, steps)) / ((v / (1 - std::pow(0.9, steps))).sqrt() + 1e-8);
    w = start.norm() * n(w - 0.02 * start.norm() * n(u));
  }
  EXPECT_LE(largest_difference(trained(config, start, g), w), 1e-10);
}

TEST(Hyperball, IsThePlainFormOnEachBlockOfASplitThatMuonWouldHaveMoved) {
  const OptimizerConfig config = sphere("muon", R"(, "orthogonalizer": "exact")");
  const std::vector<at::Tensor> g = gradients({8, 5}, 6);
  const at::Tensor start = random({8, 5}, 1), after = trained(config, start, g, {3, 3, 2});
  for (const auto& [first, rows] : {std::pair<int64_t, int64_t>{0, 3}, {3, 3}, {6, 2}}) {
    at::Tensor w = start.narrow(0, first, rows).clone(), m = at::zeros_like(w);
    const at::Tensor radius = w.norm();
    for (const at::Tensor& each : g) {
      const at::Tensor gradient = each.narrow(0, first, rows);
      m = 0.95 * m + 0.05 * gradient;
      const auto [left, s, right] =
          at::linalg_svd(0.05 * gradient + 0.95 * m, /*full_matrices=*/false);
      w = radius * n(w - 0.02 * radius * n(left.mm(right)));
    }
    EXPECT_LE(largest_difference(after.narrow(0, first, rows), w), 1e-10) << first;
  }
}

// tests/golden/hyperball.json: what NVIDIA's emerging-optimizers computes, in float32.
TEST(Hyperball, AgreesWithEmergingOptimizers) {
  const Json golden = read_json(DRAFTLAB_SOURCE_DIR "/tests/golden/hyperball.json");
  for (const char* form : {"plain", "nesterov"}) {
    const OptimizerConfig config =
        sphere("muon", std::string(R"(, "orthogonalizer": "you5", "epsilon": "published",
                                      "nesterov": )") +
                           (std::string(form) == "nesterov" ? "true" : "false"));
    for (const auto& [rows, cols] : {std::pair<int64_t, int64_t>{4, 6}, {6, 4}, {5, 5}}) {
      const Json& steps =
          golden.at("runs").at(form).at(std::to_string(rows) + "x" + std::to_string(cols));
      std::vector<at::Tensor> g;
      for (int64_t t = 0; t < 3; ++t) {
        g.push_back(golden_gradient(rows, cols, t));
        EXPECT_LE(largest_difference(trained(config, golden_gradient(rows, cols, 7), g),
                                     golden_matrix(steps.at(static_cast<size_t>(t)), rows, cols)),
                  1e-5)  // theirs is float32
            << form << rows;
      }
    }
  }
}

TEST(Hyperball, VectorsAndThePartnersTensorsAreUpdatedAsWithoutIt) {
  for (const auto& [with, without] :
       {std::pair<const char*, const char*>{R"({"kind": "adamw", "hyperball": true})",
                                            R"({"kind": "adamw", "weight_decay": 0})"},
        {R"({"kind": "muon", "hyperball": true, "adamw": {"weight_decay": 0.2}})",
         R"({"kind": "muon", "adamw": {"weight_decay": 0.2}})"}}) {
    const NamedTensors a = random_tensors(1), b = copy_of(a);
    const OptimizerConfig one = config_of(with), other = config_of(without);
    Optimizer first(one, small_table(one), a), second(other, small_table(other), b);
    for (uint64_t t = 0; t < 3; ++t) {
      first.step(random_tensors(10 + t), 1);
      second.step(random_tensors(10 + t), 1);
    }
    EXPECT_TRUE(at::equal(a.at("norm.weight"), b.at("norm.weight"))) << with;
    EXPECT_FALSE(at::equal(a.at("fc.weight"), b.at("fc.weight"))) << with;
    EXPECT_FALSE(first.state().contains("norm.weight/radius")) << with;
  }
}

TEST(Hyperball, AMatrixWithoutANormIsRefusedWithAdvice) {
  const OptimizerConfig config = sphere("muon");
  const auto refusal = [&](const at::Tensor& w, std::vector<int64_t> split) {
    return error_of([&] { trained(config, w, {}, std::move(split)); });
  };
  EXPECT_THAT(refusal(at::zeros({6, 4}), {}),
              ::testing::AllOf(HasSubstr("w: has norm 0, so that \"hyperball\" has no radius"),
                               HasSubstr("\"frozen\", or \"adamw\"")));
  at::Tensor half = at::ones({6, 4});
  half.narrow(0, 4, 2).zero_();
  EXPECT_EQ(refusal(half, {}), "");
  EXPECT_THAT(refusal(half, {4, 2}), HasSubstr("w: has norm 0 in a block of 2 rows"));
}

TEST(Hyperball, ARateIsTheShareOfTheNormThatAStepMoves) {
  const at::Tensor start = random({64, 48}, 1);
  for (const std::string& kind : kKinds) {
    if (kind == "soap") continue;  // whose first step only looks
    const at::Tensor w = trained(sphere(kind), start, gradients({64, 48}, 1));
    // A random direction is all but orthogonal to the weight.
    EXPECT_NEAR(relative_distance(w, start), 0.02, 1e-4) << kind;
  }
}

}  // namespace
}  // namespace draftlab

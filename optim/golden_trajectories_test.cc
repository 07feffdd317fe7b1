#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "optim/optimizer.h"
#include "testing/golden_trajectory.h"

namespace draftlab {
namespace {

// float64, against values made without this code from the formulas of the sources; the trajectories
// hold three steps, in which rounding grows at most a few hundred times.
constexpr double kTolerance = 1e-10;

struct Golden {
  const char* run;
  const char* options;  // as in a sweep file
  // Names in the golden file and in Optimizer::state().
  std::vector<std::pair<const char*, const char*>> state;
};

const std::vector<std::pair<const char*, const char*>> kMomentum = {{"momentum", "momentum"}},
                                                       kSum = {{"momentum", "momentum_sum"}},
                                                       kAdam = {{"m", "exp_avg"},
                                                                {"v", "exp_avg_sq"}};

const std::vector<Golden>& goldens() {
  static const std::vector<Golden> all = {
      {"adamw(lr=1e-2,b=(.9,.95),eps=1e-8,wd=.1)",
       R"("kind": "adamw", "learning_rate": 0.01, "beta2": 0.95, "weight_decay": 0.1)", kAdam},
      {"adamw_cwd(lr=1e-2,b=(.9,.95),eps=1e-8,wd=.1)",
       R"("kind": "adamw", "learning_rate": 0.01, "beta2": 0.95, "weight_decay": 0.1,
          "decay": "cautious")",
       kAdam},
      {"c_adamw(lr=1e-2,b=(.9,.95),eps=1e-8,wd=.1)",
       R"("kind": "adamw", "learning_rate": 0.01, "beta2": 0.95, "weight_decay": 0.1,
          "cautious": true)",
       kAdam},
      {"adam_mini_rows(lr=1e-2,b=(.9,.95),eps=1e-8,wd=.1)",
       R"("kind": "adam_mini", "learning_rate": 0.01, "beta2": 0.95, "weight_decay": 0.1)",
       {{"m", "exp_avg"}, {"vmean", "exp_avg_sq"}}},
      {"lion(lr=1e-3,b=(.9,.95),wd=.1)",
       R"("kind": "lion", "learning_rate": 0.001, "beta2": 0.95, "weight_decay": 0.1)",
       {{"m", "exp_avg"}}},
      {"muon_exact_svd(lr=.02,wd=.1,mu=.95,nesterov,lerp,original)",
       R"("kind": "muon", "weight_decay": 0.1, "orthogonalizer": "exact")", kMomentum},
      {"muon_kj(lr=.02,wd=.1,mu=.95,nesterov,lerp,original)",
       R"("kind": "muon", "weight_decay": 0.1, "epsilon": "published")", kMomentum},
      // KellerJordan/Muon#4: without Nesterov the momentum is orthogonalized, not the gradient;
      // optax#1170 orthogonalized the gradient always.
      {"muon_kj_no_nesterov(lr=.02,wd=.1,mu=.95,lerp,original)",
       R"("kind": "muon", "weight_decay": 0.1, "epsilon": "published", "nesterov": false)",
       kMomentum},
      {"muon_torch(lr=1e-3,wd=.1,mu=.95,nesterov,original)",
       R"("kind": "muon", "convention": "torch", "epsilon": "published")", kMomentum},
      // NVIDIA Emerging-Optimizers#80: without the factor .2 updates are five times too large.
      {"muon_torch_match_rms(lr=1e-3,wd=.1,mu=.95,nesterov)",
       R"("kind": "muon", "convention": "speculators", "epsilon": "published")", kMomentum},
      {"muon_moonlight(lr=1e-3,wd=.1,mu=.95,nesterov,accumulate,match_rms)",
       R"("kind": "muon", "convention": "moonlight", "epsilon": "published")", kSum},
      {"muon_dion(lr=.01,wd=.01,mu=.95,no nesterov,accumulate,spectral sqrt(m/n),PE1.02)",
       R"("kind": "muon", "convention": "dion", "epsilon": "published")", kSum},
      // dion's change log: cautious decay was dropped where the decay was a tensor.
      {"muon_dion_cwd(lr=.01,wd=.01,mu=.95,no nesterov,accumulate,spectral,PE1.02)",
       R"("kind": "muon", "convention": "dion", "epsilon": "published", "decay": "cautious")",
       kSum},
      {"turbo_muon(lr=.02,wd=.1,mu=.95,nesterov,lerp,original,AOL4)",
       R"("kind": "turbo_muon", "weight_decay": 0.1, "epsilon": "published")", kMomentum},
      // zichongli5/NorMuon#5: the code has Nesterov, the paper has not.
      {"normuon_official(lr=.02,wd=.1,mu=.95,b2=.95)",
       R"("kind": "normuon", "weight_decay": 0.1, "epsilon": "published")",
       {{"momentum", "momentum"}, {"v", "row_mean_square"}}},
      {"normuon_dion(lr=.01,wd=.01,mu=.95,b2=.95,no nesterov,spectral,PE1.02)",
       R"("kind": "normuon", "convention": "dion", "epsilon": "published")",
       {{"momentum", "momentum_sum"}, {"v", "row_mean_square"}}},
      {"normuon_dion_match_rms(lr=1e-3,wd=.1,mu=.95,b2=.95,nesterov,0.2sqrt(max),PE1.02)",
       R"("kind": "normuon", "convention": "dion", "epsilon": "published", "learning_rate": 0.001,
          "weight_decay": 0.1, "nesterov": true, "scale": "match_rms")",
       {{"momentum", "momentum_sum"}, {"v", "row_mean_square"}}},
      {"normuon_modded(lr=.023,wd=1.2,mu=.95,b2=.9,lr_mul=1)",
       R"("kind": "normuon", "convention": "modded_nanogpt", "epsilon": "published")",
       {{"momentum", "momentum"}, {"v", "mean_square"}}},
  };
  return all;
}

OptimizerConfig config_of(const std::string& options) {
  return parse_optimizer_config(parse_json("{" + options + "}", "test"), "test");
}

class GoldenTrajectory : public ::testing::TestWithParam<Golden> {};

// The update that was subtracted, from W before and after: W' = W - shrink W [mask] - rate U.
at::Tensor update_of(const at::Tensor& before, const at::Tensor& after, const at::Tensor& expected,
                     const OptimizerConfig& config, const Route& route) {
  const double base = config.learning_rate(), rate = route.learning_rates[0];
  const std::string decay = config.has("decay") ? config.text("decay") : "decoupled";
  double shrink = base * route.weight_decay;
  if (decay == "cautious_squared") shrink *= rate;
  at::Tensor decayed = before * shrink;
  if (decay != "decoupled") decayed = decayed * (before * expected >= 0);
  return (before - decayed - after) / rate;
}

TEST_P(GoldenTrajectory, IsReachedThroughTheOptionsOfASweepFile) {
  const Golden& golden = GetParam();
  const OptimizerConfig config = config_of(golden.options);
  for (const auto& [rows, cols] : {std::pair<int64_t, int64_t>{4, 6}, {6, 4}, {5, 5}}) {
    const std::string shape = std::to_string(rows) + "x" + std::to_string(cols);
    SCOPED_TRACE(shape);
    const Json& record = golden_trajectories().at("runs").at(golden.run).at(shape);
    const at::Tensor w = golden_matrix(record.at("W0"), rows, cols);
    const std::vector<Route> table = route({{"w", {rows, cols}}}, config, {}, "routing");
    Optimizer optimizer(config, table, {{"w", w}});
    for (int64_t t = 0; t < 3; ++t) {
      const at::Tensor before = w.clone();
      optimizer.step({{"w", golden_gradient(rows, cols, t)}}, 1);
      const Json& row = record.at("trajectory").at(t);
      EXPECT_LE(largest_difference(w, golden_matrix(row.at("W"), rows, cols)), kTolerance);
      // A division by rates down to 1e-3 leaves 1e-12 of the weights' rounding.
      at::Tensor expected = golden_matrix(row.at("update_before_lr"), rows, cols);
      // The official code scales its direction by the shape, not the rate.
      if (config.kind == "normuon" && config.text("convention") == "official")
        expected = expected / muon_scale("original", rows, cols);
      EXPECT_LE(largest_difference(update_of(before, w, expected, config, table[0]), expected),
                kTolerance);
      for (const auto& [key, buffer] : golden.state) {
        const at::Tensor actual = optimizer.state().at(std::string("w/") + buffer);
        const auto count = static_cast<int64_t>(row.at(key).as_array().size());
        ASSERT_EQ(actual.numel(), count);
        EXPECT_LE(
            largest_difference(actual.reshape({1, count}), golden_matrix(row.at(key), 1, count)),
            kTolerance)
            << buffer;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(EveryRun, GoldenTrajectory, ::testing::ValuesIn(goldens()),
                         [](const auto& run) {
                           std::string name;
                           for (const char c : std::string(run.param.run))
                             name += std::isalnum(c) ? c : '_';
                           return name;
                         });

TEST(GoldenTrajectories, AreAllCovered) {
  std::set<std::string> expected, covered;
  for (const auto& run : golden_trajectories().at("runs").as_object())
    expected.insert(std::string(run.key()));
  for (const Golden& golden : goldens()) covered.insert(golden.run);
  EXPECT_EQ(covered, expected);
}

// microsoft/dion#24, kozistr/pytorch_optimizer#431, Emerging-Optimizers#254: 0/0 made weights NaN.
TEST(GoldenTrajectories, AZeroFirstGradientOnlyDecaysTheWeight) {
  const Json& golden = golden_trajectories().at("zero_grad_first_step");
  for (const char* options :
       {R"("kind": "muon")", R"("kind": "muon", "epsilon": "published")",
        R"("kind": "muon", "orthogonalizer": "exact")",
        R"("kind": "muon", "momentum_form": "accumulate", "cautious": true)",
        R"("kind": "turbo_muon")", R"("kind": "turbo_muon", "epsilon": "published")",
        R"("kind": "normuon")", R"("kind": "normuon", "epsilon": "published")",
        R"("kind": "normuon", "convention": "paper", "learning_rate": 0.02)",
        R"("kind": "normuon", "convention": "dion", "learning_rate": 0.02)",
        R"("kind": "muon_all")", R"("kind": "adamw", "learning_rate": 0.02)",
        R"("kind": "lion", "learning_rate": 0.02)", R"("kind": "adam_mini", "learning_rate": 0.02)",
        R"("kind": "shampoo", "learning_rate": 0.02)"}) {
    const OptimizerConfig config = config_of(std::string(options) + R"(, "weight_decay": 0.1)");
    const at::Tensor w = golden_matrix(golden.at("W0"), 4, 6);
    Optimizer optimizer(config, route({{"w", {4, 6}}}, config, {}, "routing"), {{"w", w}});
    optimizer.step({{"w", at::zeros({4, 6}, at::kDouble)}}, 1);
    EXPECT_LE(
        largest_difference(w, golden_matrix(golden.at("expect_after_1_step_lr.02_wd.1"), 4, 6)),
        1e-15)
        << options;
    for (const auto& [name, tensor] : optimizer.state()) {
      if (!name.ends_with("_steps") && name.find("_root") == std::string::npos) {
        EXPECT_EQ(tensor.abs().max().item<double>(), 0) << options << " " << name;
      }
    }
  }
}

}  // namespace
}  // namespace draftlab

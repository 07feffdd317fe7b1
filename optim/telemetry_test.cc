#include "optim/telemetry.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cmath>

#include "testing/every_configuration.h"

namespace draftlab {
namespace {

at::Tensor random(at::IntArrayRef shape) {
  at::manual_seed(5);
  return at::randn(shape, at::kDouble);
}

at::Tensor polar_factor(const at::Tensor& x) {
  const auto [u, s, vh] = at::linalg_svd(x, /*full_matrices=*/false);
  return u.mm(vh);
}

TEST(Telemetry, AlignmentAndDeviationOfThePolarFactorAreOneAndZero) {
  for (const auto& shape : {std::vector<int64_t>{4, 9}, {9, 4}, {6, 6}}) {
    const at::Tensor x = random(shape), o = polar_factor(x);
    const OrthogonalizationQuality exact = quality({x, o}), flipped = quality({x, -o}),
                                   larger = quality({x, 1.25 * o});
    EXPECT_NEAR(exact.alignment, 1, 1e-10);
    EXPECT_NEAR(exact.deviation, 0, 1e-10);
    EXPECT_NEAR(flipped.alignment, -1, 1e-10);  // which the deviation does not see
    EXPECT_NEAR(flipped.deviation, 0, 1e-10);
    EXPECT_NEAR(larger.deviation, 0.25, 1e-10);
  }
}

TEST(Telemetry, SingularValuesThatAreZeroInTheInputDoNotCount) {
  const at::Tensor u = random({6, 2}), x = u.mm(random({2, 5}) + 1);
  const auto [left, s, right] = at::linalg_svd(x, false);
  const at::Tensor o = left.narrow(1, 0, 2).mm(right.narrow(0, 0, 2));
  EXPECT_NEAR(quality({x, o}).deviation, 0, 1e-9);
  EXPECT_NEAR(quality({x, o}).alignment, 1, 1e-6);  // roots of eigenvalues that are rounding
}

TEST(Telemetry, WhatIsNotDefinedIsNotANumber) {
  EXPECT_TRUE(std::isnan(quality({}).alignment));
  const at::Tensor zero = at::zeros({3, 4});
  EXPECT_TRUE(std::isnan(quality({zero, zero}).alignment));
  EXPECT_TRUE(std::isnan(quality({zero, zero}).deviation));
}

TEST(Telemetry, AVectorIsADiagonalMatrix) {
  const at::Tensor x = at::tensor({3.0, -4.0, 0.0}, at::kDouble),
                   o = at::tensor({1.1, -0.8, 0.0}, at::kDouble);
  EXPECT_NEAR(quality({x, o}).alignment, (3.3 + 3.2) / 7, 1e-12);
  EXPECT_NEAR(quality({x, o}).deviation, 0.2, 1e-12);
}

TEST(Telemetry, ASpectrumHoldsTheQuartilesOfTheSingularValuesAndTheStableRank) {
  for (const auto& shape : {std::vector<int64_t>{7, 12}, {12, 7}}) {
    const at::Tensor x = random(shape), svd = at::linalg_svdvals(x);  // descending
    const auto at_rank = [&](int64_t i) { return svd[i].item<double>(); };
    const Spectrum found = spectrum(x);
    ASSERT_EQ(found.quantiles.size(), 5u);
    EXPECT_NEAR(found.quantiles[0], at_rank(6), 1e-10);
    EXPECT_NEAR(found.quantiles[1], (at_rank(5) + at_rank(4)) / 2, 1e-10) << "between two";
    EXPECT_NEAR(found.quantiles[2], at_rank(3), 1e-10);
    EXPECT_NEAR(found.quantiles[3], (at_rank(2) + at_rank(1)) / 2, 1e-10);
    EXPECT_NEAR(found.quantiles[4], at_rank(0), 1e-10);
    EXPECT_NEAR(found.stable_rank, x.square().sum().item<double>() / (at_rank(0) * at_rank(0)),
                1e-10);
  }
}

TEST(Telemetry, TheStableRankIsThatOfTheMatrixWhereItHasOne) {
  EXPECT_NEAR(spectrum(3 * polar_factor(random({4, 9}))).stable_rank, 4, 1e-10);
  EXPECT_NEAR(spectrum(random({6, 1}).mm(random({1, 5}))).stable_rank, 1, 1e-10);
  EXPECT_TRUE(std::isnan(spectrum(at::zeros({3, 4})).stable_rank));
  at::Tensor broken = random({3, 4});
  broken[1][2] = NAN;
  for (const double value : spectrum(broken).quantiles) EXPECT_TRUE(std::isnan(value));
}

TEST(Telemetry, RowsHoldTheUpdatesOfAllLayersOfAKind) {
  const std::vector<ParameterShape> shapes = {{"fc.weight", {4, 6}},
                                              {"layers.0.mlp.up_proj.weight", {6, 4}},
                                              {"layers.1.mlp.up_proj.weight", {6, 4}},
                                              {"norm.weight", {6}}};
  NamedTensors weights, before, gradients;
  for (const ParameterShape& p : shapes) {
    weights[p.name] = random(p.shape);
    gradients[p.name] = random(p.shape) + 0.1;
  }
  before = copy_of(weights);
  const OptimizerConfig config = config_of(R"({"kind": "muon", "orthogonalizer": "exact"})");
  Optimizer optimizer(config, route(shapes, config, {}, ""), weights);
  double seconds = 0;
  std::vector<UpdateRow> rows = optimizer.measured_step(gradients, 0.5, seconds);
  ASSERT_EQ(rows.size(), 3);
  EXPECT_EQ(rows[0].kind, "fc");
  EXPECT_EQ(rows[1].kind, "mlp.up_proj");
  EXPECT_EQ(rows[2].kind, "norm");
  EXPECT_EQ(rows[1].rule, "muon");
  EXPECT_EQ(rows[2].rule, "adamw");
  const std::string up[] = {"layers.0.mlp.up_proj.weight", "layers.1.mlp.up_proj.weight"};
  double updates = 0, squares = 0;
  for (const std::string& name : up) {
    updates += (weights.at(name) - before.at(name)).square().sum().item<double>();
    squares += before.at(name).square().sum().item<double>();
  }
  EXPECT_NEAR(rows[1].update_rms, std::sqrt(updates / 48), 1e-12);
  EXPECT_NEAR(rows[1].weight_rms, std::sqrt(squares / 48), 1e-12);
  EXPECT_NEAR(rows[1].alignment, 1, 1e-9);
  EXPECT_NEAR(rows[1].deviation, 0, 1e-9);
  EXPECT_TRUE(std::isnan(rows[2].alignment) && std::isnan(rows[2].deviation));
  EXPECT_TRUE(rows[1].weight_spectrum.empty());
  optimizer.add_spectra(rows);
  EXPECT_EQ(rows[1].weight_spectrum, spectrum(weights.at(up[0])).quantiles) << "after the step";
  EXPECT_EQ(rows[1].momentum_spectrum,
            spectrum(optimizer.state().at(up[0] + "/momentum")).quantiles);
  EXPECT_GT(rows[1].momentum_stable_rank, 1);
  EXPECT_TRUE(rows[2].weight_spectrum.empty() && rows[2].momentum_spectrum.empty()) << "a vector";
}

}  // namespace
}  // namespace draftlab

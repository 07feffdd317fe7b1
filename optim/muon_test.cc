#include "optim/muon.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <gtest/gtest.h>

#include <functional>

#include "optim/golden_trajectory.h"
#include "record/routing.h"

namespace draftlab {
namespace {

constexpr double kFloat64Tolerance = 1e-10;

struct GoldenRun {
  const char* name;
  double rate;
  const char* scale;
  MuonOptions options;
  bool normuon = false;
};

const std::vector<GoldenRun>& golden_runs() {
  const auto options = [](bool nesterov, Method method, Normalization normalization) {
    return MuonOptions{0.95, nesterov, {method, method == Method::kTurbo ? 4 : 5, normalization}};
  };
  const MuonOptions keller = options(true, Method::kNewtonSchulz, Normalization::kPlusEpsilon);
  const MuonOptions torch = options(true, Method::kNewtonSchulz, Normalization::kAtLeastEpsilon);
  static const std::vector<GoldenRun> runs = {
      {"muon_kj(lr=.02,wd=.1,mu=.95,nesterov,lerp,original)", 0.02, "original", keller},
      {"muon_kj_no_nesterov(lr=.02,wd=.1,mu=.95,lerp,original)", 0.02, "original",
       options(false, Method::kNewtonSchulz, Normalization::kPlusEpsilon)},
      {"muon_torch(lr=1e-3,wd=.1,mu=.95,nesterov,original)", 1e-3, "original", torch},
      {"muon_torch_match_rms(lr=1e-3,wd=.1,mu=.95,nesterov)", 1e-3, "match_rms", torch},
      {"turbo_muon(lr=.02,wd=.1,mu=.95,nesterov,lerp,original,AOL4)", 0.02, "original",
       options(true, Method::kTurbo, Normalization::kPlusEpsilon)},
      {"normuon_official(lr=.02,wd=.1,mu=.95,b2=.95)", 0.02, "original", keller, true},
  };
  return runs;
}

// Runs three steps and calls `check` with the golden row after each.
void replay(
    const GoldenRun& run, const std::string& shape_name, const MuonOptions& options,
    const std::function<void(const Json& row, const at::Tensor& w, const at::Tensor& momentum,
                             const at::Tensor& v, const at::Tensor& direction)>& check) {
  const Json& record = golden_trajectories().at("runs").at(run.name).at(shape_name);
  const int64_t rows = record.at("rows").as_int64(), cols = record.at("cols").as_int64();
  const double scale = muon_scale(run.scale, rows, cols), weight_decay = 0.1;
  at::Tensor w = golden_matrix(record.at("W0"), rows, cols);
  at::Tensor momentum = at::zeros_like(w), v = at::zeros({rows, 1}, at::kDouble);
  Workspace workspace;
  for (int64_t t = 0; t < 3; ++t) {
    const at::Tensor g = golden_gradient(rows, cols, t);
    const at::Tensor o = run.normuon ? normuon_direction(g, momentum, v, 0.95, options, workspace)
                                     : muon_direction(g, momentum, options, workspace);
    muon_update(w, o, run.rate * scale, 1 - run.rate * weight_decay);
    // NorMuon's golden direction holds the scale already.
    check(record.at("trajectory").at(t), w, momentum, v, run.normuon ? o * scale : o);
  }
}

TEST(Muon, EqualsTheGoldenTrajectories) {
  for (const GoldenRun& run : golden_runs()) {
    for (const char* shape : {"4x6", "6x4", "5x5"}) {
      replay(run, shape, run.options,
             [&](const Json& row, const at::Tensor& w, const at::Tensor& momentum,
                 const at::Tensor& v, const at::Tensor& direction) {
               const std::string what = std::string(run.name) + " " + shape;
               EXPECT_LE(largest_difference(w, golden_matrix(row.at("W"), w.size(0), w.size(1))),
                         kFloat64Tolerance)
                   << what;
               EXPECT_LE(largest_difference(
                             momentum, golden_matrix(row.at("momentum"), w.size(0), w.size(1))),
                         kFloat64Tolerance)
                   << what;
               EXPECT_LE(largest_difference(direction, golden_matrix(row.at("update_before_lr"),
                                                                     w.size(0), w.size(1))),
                         kFloat64Tolerance)
                   << what;
               if (run.normuon) {
                 EXPECT_LE(largest_difference(v, golden_matrix(row.at("v"), v.size(0), v.size(1))),
                           kFloat64Tolerance)
                     << what;
               }
             });
    }
  }
}

TEST(Muon, ScaleFreeFormAgreesWithTheGoldenTrajectoriesAtOrdinaryScale) {
  for (const GoldenRun& run : golden_runs()) {
    MuonOptions options = run.options;
    options.orthogonalization.normalization = Normalization::kScaleFree;
    for (const char* shape : {"4x6", "6x4", "5x5"}) {
      replay(
          run, shape, options,
          [&](const Json& row, const at::Tensor& w, const at::Tensor&, const at::Tensor&,
              const at::Tensor& direction) {
            EXPECT_LE(largest_difference(direction, golden_matrix(row.at("update_before_lr"),
                                                                  w.size(0), w.size(1))),
                      2e-6)
                << run.name << shape;
            EXPECT_LE(largest_difference(w, golden_matrix(row.at("W"), w.size(0), w.size(1))), 1e-6)
                << run.name << shape;
          });
    }
  }
}

TEST(Muon, ZeroGradientGivesAZeroUpdate) {
  Workspace workspace;
  for (const GoldenRun& run : golden_runs()) {
    for (const Normalization normalization :
         {Normalization::kScaleFree, run.options.orthogonalization.normalization}) {
      MuonOptions options = run.options;
      options.orthogonalization.normalization = normalization;
      const at::Tensor g = at::zeros({4, 6}, at::kDouble);
      at::Tensor momentum = g.clone(), v = at::zeros({4, 1}, at::kDouble);
      const at::Tensor o = run.normuon ? normuon_direction(g, momentum, v, 0.95, options, workspace)
                                       : muon_direction(g, momentum, options, workspace);
      EXPECT_TRUE(at::equal(o, g)) << run.name;
      EXPECT_TRUE(at::equal(momentum, g)) << run.name;
      EXPECT_EQ(v.sum().item<double>(), 0) << run.name;
    }
  }
}

TEST(Muon, MomentumIsNeverTouchedByTheOrthogonalization) {
  // Without Nesterov the momentum itself is orthogonalized: a version in place would overwrite it.
  at::manual_seed(2);
  Workspace workspace;
  const at::Tensor g = at::randn({8, 5});
  at::Tensor momentum = at::zeros_like(g);
  muon_direction(g, momentum, {.nesterov = false}, workspace);
  EXPECT_LE(largest_difference(momentum, 0.05 * g), 1e-7);
}

TEST(Muon, TwoHalfBatchesAveragedAreOneBatch) {
  at::manual_seed(2);
  Workspace workspace;
  const at::Tensor a = at::randn({8, 5}, at::kDouble), b = at::randn({8, 5}, at::kDouble);
  at::Tensor one = at::zeros_like(a), two = at::zeros_like(a);
  const at::Tensor first = muon_direction((a + b) / 2, one, {}, workspace).clone();
  EXPECT_LE(largest_difference(first, muon_direction(a / 2 + b / 2, two, {}, workspace)),
            kFloat64Tolerance);
}

TEST(Muon, ClippingTheGradientsDoesNotChangeTheFirstDirection) {
  at::manual_seed(2);
  Workspace workspace;
  const at::Tensor g = at::randn({8, 5});
  at::Tensor one = at::zeros_like(g), two = at::zeros_like(g);
  const at::Tensor first = muon_direction(g, one, {}, workspace).clone();
  EXPECT_LE(largest_difference(first, muon_direction(g * 1e-9, two, {}, workspace)), 1e-4);
}

TEST(Muon, ReachesAKnownOptimum) {
  // Least squares |W A - B|^2 with A of full rank: the optimum is B A^-1.
  at::set_num_threads(1);  // matrices this small only wait for a second thread
  at::manual_seed(6);
  const at::Tensor a = at::eye(12, at::kDouble) + 0.1 * at::randn({12, 12}, at::kDouble);
  const at::Tensor wanted = at::randn({20, 12}, at::kDouble), b = wanted.mm(a);
  for (const GoldenRun& run : golden_runs()) {
    Workspace workspace;
    at::Tensor w = at::zeros({20, 12}, at::kDouble), momentum = at::zeros_like(w),
               v = at::zeros({20, 1}, at::kDouble);
    MuonOptions options = run.options;
    options.orthogonalization.normalization = Normalization::kScaleFree;
    for (int64_t t = 0; t < 200; ++t) {
      const at::Tensor g = (w.mm(a) - b).mm(a.t());
      const at::Tensor o = run.normuon ? normuon_direction(g, momentum, v, 0.95, options, workspace)
                                       : muon_direction(g, momentum, options, workspace);
      muon_update(w, o, 0.2 * (1 - static_cast<double>(t) / 200), 1);
    }
    EXPECT_LE(((w - wanted).norm() / wanted.norm()).item<double>(), 1e-2) << run.name;
  }
}

TEST(NorMuon, KeepsTheNormAndEvensOutTheRowsOfTheFirstStep) {
  at::manual_seed(2);
  Workspace workspace;
  const at::Tensor g =
      at::randn({10, 30}, at::kDouble) * at::linspace(0.1, 3, 10, at::kDouble).view({10, 1});
  for (const double beta2 : {0.5, 0.95}) {
    at::Tensor momentum = at::zeros_like(g), plain_momentum = at::zeros_like(g),
               v = at::zeros({10, 1}, at::kDouble);
    for (int64_t t = 0; t < 4; ++t) {
      const at::Tensor gt = g * (1 + t) + at::randn_like(g);
      const double norm = muon_direction(gt, plain_momentum, {}, workspace).norm().item<double>();
      const at::Tensor o = normuon_direction(gt, momentum, v, beta2, {}, workspace);
      EXPECT_NEAR(o.norm().item<double>(), norm, 1e-8);
      if (t == 0) {
        EXPECT_LE((o.norm(2, 1) - norm / std::sqrt(10.0)).abs().max().item<double>(), 1e-8);
      }
    }
  }
}

TEST(NorMuon, FollowsAPermutationOfRows) {
  at::manual_seed(2);
  Workspace workspace;
  const at::Tensor g = at::randn({10, 30}, at::kDouble), order = at::randperm(10);
  at::Tensor m1 = at::zeros_like(g), m2 = at::zeros_like(g), v1 = at::zeros({10, 1}, at::kDouble),
             v2 = v1.clone();
  const at::Tensor o = normuon_direction(g, m1, v1, 0.9, {}, workspace).clone();
  EXPECT_LE(
      largest_difference(normuon_direction(g.index_select(0, order), m2, v2, 0.9, {}, workspace),
                         o.index_select(0, order)),
      kFloat64Tolerance);
}

}  // namespace
}  // namespace draftlab

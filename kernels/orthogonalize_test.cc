#include "kernels/orthogonalize.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <gtest/gtest.h>

#include <array>
#include <vector>

#include "testing/golden_quintics.h"


namespace draftlab {
namespace {

// Golden values and mathematical properties of the fast version are in newton_schulz_test.cc.

constexpr double kFloat64Tolerance = 1e-10, kFloat32Tolerance = 1e-4;

double relative(const at::Tensor& a, const at::Tensor& b) {
  return ((a - b).norm() / b.norm()).item<double>();
}

Orthogonalization muon() { return {.quintics = quintic_table("kj5")}; }
Orthogonalization turbo() {
  return {.quintics = quintic_table("aol4"), .steps = 4, .normalizer = Normalizer::kAol};
}
Orthogonalization schatten() {
  return {.quintics = quintic_table("aol4"), .steps = 4, .normalizer = Normalizer::kSchatten4};
}
Orthogonalization polar_express() {
  return {.quintics = polar_express_of_nanogpt(), .safety = 1.02};
}
Orthogonalization cubic() { return {.quintics = quintic_table("cubic5")}; }

TEST(Orthogonalize, EqualsThePlainVersionForEveryShapeAndForm) {
  at::manual_seed(4);
  Workspace workspace;
  using Shape = std::pair<int64_t, int64_t>;
  for (const auto& [rows, cols] : {Shape{1, 1},
                                   {1, 7},
                                   {7, 1},
                                   {6, 6},
                                   {63, 64},
                                   {128, 128},
                                   {130, 131},
                                   {200, 150},
                                   {192, 576}}) {
    for (const auto& [dtype, tolerance] :
         {std::pair{at::kDouble, kFloat64Tolerance}, std::pair{at::kFloat, kFloat32Tolerance}}) {
      const at::Tensor x = at::randn({rows, cols}, dtype);
      for (Orthogonalization how : {muon(), turbo(), schatten(), polar_express(), cubic()}) {
        const at::Tensor expected = newton_schulz(x, how);
        EXPECT_LE(relative(orthogonalize(x, how, workspace), expected), tolerance)
            << rows << "x" << cols << " " << how.quintics[0].a;
        how.form = Form::kGram;
        // The last: one step at a time.
        for (const std::vector<int64_t>& restarts : {std::vector<int64_t>{2}, {1, 2, 3, 4}}) {
          how.restarts = restarts;
          EXPECT_LE(relative(orthogonalize(x, how, workspace), expected), tolerance)
              << rows << "x" << cols << " " << how.quintics[0].a << " " << restarts.size()
              << " restarts";
        }
      }
    }
  }
}

TEST(Orthogonalize, EqualsThePlainVersionForEveryFloor) {
  at::manual_seed(4);
  Workspace workspace;
  for (const double size : {1e-8, 1e-4, 1.}) {
    const at::Tensor x = size * at::randn({20, 50}, at::kDouble);
    for (Orthogonalization how : {muon(), turbo(), schatten()}) {
      for (const Floor floor : {Floor::kNone, Floor::kPlus, Floor::kAtLeast}) {
        how.floor = floor;
        EXPECT_LE(relative(orthogonalize(x, how, workspace), newton_schulz(x, how)),
                  kFloat64Tolerance)
            << size;
      }
    }
  }
}

TEST(Orthogonalize, EqualsThePlainVersionForEveryNumberOfSteps) {
  at::manual_seed(4);
  Workspace workspace;
  const at::Tensor x = at::randn({30, 70}, at::kDouble);
  for (Orthogonalization how : {muon(), turbo(), polar_express(), cubic()}) {
    for (how.steps = 1; how.steps <= 12; ++how.steps) {
      EXPECT_LE(relative(orthogonalize(x, how, workspace), newton_schulz(x, how)),
                kFloat64Tolerance)
          << how.steps;
    }
  }
}

TEST(Orthogonalize, AcceptsTransposedAndStridedMatrices) {
  at::manual_seed(4);
  Workspace workspace;
  const at::Tensor wide = at::randn({100, 300}, at::kDouble);
  for (const at::Tensor& x : {wide.t(), wide.slice(1, 5, 290, 3), wide.slice(0, 0, 100, 2)})
    EXPECT_LE(relative(orthogonalize(x, muon(), workspace), newton_schulz(x, muon())),
              kFloat64Tolerance);
  const at::Tensor batch = at::randn({8, 3, 20}, at::kDouble).transpose(0, 1);
  EXPECT_LE(relative(orthogonalize(batch, muon(), workspace), newton_schulz(batch, muon())),
            kFloat64Tolerance);
}

TEST(Orthogonalize, AMatrixOfABatchHasTheBitsItHasAlone) {
  at::manual_seed(4);
  Workspace workspace;
  for (const Orthogonalization& how : {muon(), turbo()}) {
    const at::Tensor x = at::randn({4, 50, 120});
    const at::Tensor batch = orthogonalize(x, how, workspace).clone();
    for (int64_t i = 0; i < 4; ++i)
      EXPECT_TRUE(at::equal(batch[i], orthogonalize(x[i], how, workspace)));
  }
}

TEST(Orthogonalize, GivesTheSameBitsTwiceAndInsideAParallelRegion) {
  at::manual_seed(4);
  Workspace one, two;
  const at::Tensor x = at::randn({192, 576}), other = at::randn({300, 200});
  const int threads = at::get_num_threads();
  at::set_num_threads(1);
  const at::Tensor first = orthogonalize(x, muon(), one).clone();
  orthogonalize(other, turbo(), two);
  EXPECT_TRUE(at::equal(first, orthogonalize(x, muon(), two)));

  at::set_num_threads(2);
  std::array<Workspace, 8> workspaces;
  std::array<at::Tensor, 8> results;
  at::parallel_for(0, 8, 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) results[i] = orthogonalize(x, muon(), workspaces[i]);
  });
  at::set_num_threads(threads);
  for (const at::Tensor& result : results) EXPECT_TRUE(at::equal(result, first));
}

TEST(OrthogonalizationCost, CountsTheOperationsOfTheChosenForm) {
  const double g = 576. * 576 * 576, gate = 1536. / 576;
  const auto square = orthogonalization_cost(576, 576, muon());
  EXPECT_EQ(square.form, "standard");
  EXPECT_DOUBLE_EQ(square.dense_flops, 30 * g);
  EXPECT_DOUBLE_EQ(square.actual_flops, 20 * g);
  EXPECT_EQ(square.gemms, 15);

  // Two runs on a Gram matrix: 14 m^3 + 6 m^2 n, as in Gram Newton-Schulz with one restart.
  for (const auto& [rows, cols] : {std::pair{1536, 576}, {576, 1536}}) {
    const auto wide = orthogonalization_cost(rows, cols, muon());
    EXPECT_EQ(wide.form, "3+2");
    EXPECT_DOUBLE_EQ(wide.dense_flops, (20 * gate + 10) * g);
    EXPECT_DOUBLE_EQ(wide.actual_flops, (14 + 6 * gate) * g);
    EXPECT_EQ(wide.gemms, 18);
  }
  EXPECT_EQ(orthogonalization_cost(576, 1536, polar_express()).form, "2+3");
  EXPECT_EQ(orthogonalization_cost(576, 1536, turbo()).form, "2+2");
  EXPECT_DOUBLE_EQ(orthogonalization_cost(576, 1536, turbo()).actual_flops, (10 + 6 * gate) * g);
  // Without x^5 a step needs no square of the Gram matrix.
  EXPECT_DOUBLE_EQ(orthogonalization_cost(576, 576, cubic()).dense_flops, 20 * g);
  EXPECT_DOUBLE_EQ(orthogonalization_cost(576, 576, cubic()).actual_flops, 15 * g);
  EXPECT_EQ(orthogonalization_cost(576, 576, {}).form, "exact");
}

TEST(Workspace, StopsGrowingAfterTheLargestMatrix) {
  at::manual_seed(4);
  Workspace workspace;
  const at::Tensor large = at::randn({100, 300}), small = at::randn({50, 20});
  orthogonalize(large, muon(), workspace);
  const int64_t bytes = workspace.bytes();
  // Two of X's size and four of the Gram matrix's.
  EXPECT_EQ(bytes, 4 * (2 * 100 * 300 + 4 * 100 * 100));
  for (int i = 0; i < 3; ++i)
    orthogonalize(small, muon(), workspace), orthogonalize(large, turbo(), workspace);
  EXPECT_EQ(workspace.bytes(), bytes);
}

}  // namespace
}  // namespace draftlab

#include "kernels/orthogonalize.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

namespace draftlab {
namespace {

// The golden values and mathematical properties of the fast versions are in newton_schulz_test.cc.

double relative(const at::Tensor& a, const at::Tensor& b) {
  return ((a - b).norm() / b.norm()).item<double>();
}

TEST(Orthogonalize, EqualsThePlainVersionForEveryShape) {
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
         {std::pair{at::kDouble, 1e-10}, std::pair{at::kFloat, 1e-4}}) {
      const at::Tensor x = at::randn({rows, cols}, dtype), copy = x.clone();
      for (const Normalization normalization :
           {Normalization::kScaleFree, Normalization::kPlusEpsilon,
            Normalization::kAtLeastEpsilon}) {
        EXPECT_LE(relative(orthogonalize(x, {Method::kNewtonSchulz, 5, normalization}, workspace),
                           newton_schulz(x, 5, normalization)),
                  tolerance)
            << rows << "x" << cols;
        EXPECT_LE(relative(orthogonalize(x, {Method::kTurbo, 4, normalization}, workspace),
                           turbo_newton_schulz(x, 4, normalization)),
                  tolerance)
            << rows << "x" << cols;
      }
      EXPECT_TRUE(at::equal(x, copy));
    }
  }
}

TEST(Orthogonalize, EqualsThePlainVersionForEveryNumberOfSteps) {
  at::manual_seed(4);
  Workspace workspace;
  const at::Tensor x = at::randn({30, 70}, at::kDouble);
  const auto normalization = Normalization::kScaleFree;
  for (int64_t steps = 1; steps <= 12; ++steps) {
    EXPECT_LE(relative(orthogonalize(x, {Method::kNewtonSchulz, steps, normalization}, workspace),
                       newton_schulz(x, steps, normalization)),
              1e-10)
        << steps;
    if (steps < 4) continue;
    EXPECT_LE(relative(orthogonalize(x, {Method::kTurbo, steps, normalization}, workspace),
                       turbo_newton_schulz(x, steps, normalization)),
              1e-10)
        << steps;
  }
}

TEST(Orthogonalize, AcceptsTransposedAndStridedMatrices) {
  at::manual_seed(4);
  Workspace workspace;
  const at::Tensor wide = at::randn({100, 300}, at::kDouble);
  for (const at::Tensor& x : {wide.t(), wide.slice(1, 5, 290, 3), wide.slice(0, 0, 100, 2)}) {
    EXPECT_LE(
        relative(orthogonalize(x, {}, workspace), newton_schulz(x, 5, Normalization::kScaleFree)),
        1e-10);
  }
}

TEST(Orthogonalize, GivesTheSameBitsTwice) {
  at::manual_seed(4);
  Workspace one, two;
  const at::Tensor x = at::randn({192, 576}), other = at::randn({300, 200});
  const at::Tensor first = orthogonalize(x, {}, one).clone();
  orthogonalize(other, {Method::kTurbo, 4, Normalization::kScaleFree}, two);
  EXPECT_TRUE(at::equal(first, orthogonalize(x, {}, two)));
}

TEST(Workspace, StopsGrowingAfterTheLargestMatrix) {
  at::manual_seed(4);
  Workspace workspace;
  const at::Tensor large = at::randn({100, 300}), small = at::randn({50, 20});
  orthogonalize(large, {}, workspace);
  const int64_t bytes = workspace.bytes();
  // Two of X's size and four of the Gram matrix's.
  EXPECT_EQ(bytes, 4 * (2 * 100 * 300 + 4 * 100 * 100));
  for (int i = 0; i < 3; ++i)
    orthogonalize(small, {}, workspace), orthogonalize(large, {}, workspace);
  EXPECT_EQ(workspace.bytes(), bytes);
}

}  // namespace
}  // namespace draftlab

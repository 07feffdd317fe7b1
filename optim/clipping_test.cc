#include "optim/clipping.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cmath>

namespace draftlab {
namespace {

NamedTensors gradients() {  // global norm 13
  return {{"a", at::tensor({3.0, 0.0, 4.0}, at::kDouble)},
          {"b", at::full({1, 1}, 12.0, at::kDouble)}};
}

TEST(Clipping, ScalesTheGlobalNormByTheSpecForgeFactor) {
  NamedTensors g = gradients();
  EXPECT_DOUBLE_EQ(clip_gradients(g, 1), 13);
  EXPECT_NEAR(g["a"][2].item<double>(), 4 / (13 + 1e-6), 1e-15);
  EXPECT_NEAR(g["b"].item<double>(), 12 / (13 + 1e-6), 1e-15);
}

TEST(Clipping, LeavesSmallGradientsAlone) {
  NamedTensors g = gradients();
  EXPECT_DOUBLE_EQ(clip_gradients(g, 13.1), 13);
  EXPECT_EQ(g["b"].item<double>(), 12);
  EXPECT_DOUBLE_EQ(clip_gradients(g, 0), 13);
  EXPECT_EQ(g["b"].item<double>(), 12);
}

TEST(Clipping, SumsSquaresBeyondTheRangeOfFloat32) {
  NamedTensors g = {{"a", at::full({100}, 1e30, at::kFloat)}};
  EXPECT_NEAR(clip_gradients(g, 1) / 1e31, 1, 1e-6);
  EXPECT_NEAR(g["a"].norm().item<double>(), 1, 1e-6);
}

TEST(Clipping, NotANumberAndInfinityAreReturned) {
  for (const double bad : {double{NAN}, double{INFINITY}}) {
    NamedTensors g = gradients();
    g["a"][1] = bad;
    EXPECT_FALSE(std::isfinite(clip_gradients(g, 1)));
    EXPECT_EQ(g["b"].item<double>(), 12);
  }
}

}  // namespace
}  // namespace draftlab

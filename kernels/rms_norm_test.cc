#include "kernels/rms_norm.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <gtest/gtest.h>

#include "testing/closeness.h"

namespace draftlab {
namespace {

class RmsNormOf : public testing::TestWithParam<at::ScalarType> {
 protected:
  void SetUp() override { at::manual_seed(1); }
  at::Tensor random(at::IntArrayRef shape) const {
    return at::randn(shape, at::kDouble).to(GetParam());
  }
};
INSTANTIATE_TEST_SUITE_P(Dtypes, RmsNormOf, testing::Values(at::kFloat, at::kDouble));

TEST_P(RmsNormOf, EqualsThePlainVersion) {
  for (int64_t rows : {0, 1, 7, 300}) {
    for (int64_t n : {1, 8, 64, 100}) {
      const at::Tensor x = random({rows, n}), weight = random({n}), dy = random({rows, n});
      at::Tensor y = at::empty_like(x), scale = at::empty({rows}, x.options());
      at::Tensor plain_y = at::empty_like(y), plain_scale = at::empty_like(scale);
      rms_norm(x, weight, 1e-6, y, scale);
      plain_rms_norm(x, weight, 1e-6, plain_y, plain_scale);
      expect_close(y, plain_y);
      for (bool accumulate : {false, true}) {
        at::Tensor dx = at::ones_like(x), dw = at::empty_like(weight);
        at::Tensor plain_dx = at::ones_like(x), plain_dw = at::empty_like(weight);
        // One scale for both: 1/rms of a single number close to 0 magnifies rounding.
        rms_norm_backward(dy, x, weight, plain_scale, dx, accumulate, dw);
        plain_rms_norm_backward(dy, x, weight, plain_scale, plain_dx, accumulate, plain_dw);
        expect_close(dx, plain_dx);
        expect_close(dw, plain_dw);
      }
    }
  }
}

TEST_P(RmsNormOf, MayWorkInPlace) {
  const at::Tensor x = random({9, 20}), weight = random({20}), dy = random({9, 20});
  at::Tensor y = at::empty_like(x), scale = at::empty({9}, x.options()), dx = at::empty_like(x);
  at::Tensor dw = at::empty_like(weight);
  rms_norm(x, weight, 1e-6, y, scale);
  rms_norm_backward(dy, x, weight, scale, dx, false, dw);
  at::Tensor in_place = x.clone(), dy_then_dx = dy.clone();
  rms_norm(in_place, weight, 1e-6, in_place, scale);
  rms_norm_backward(dy_then_dx, x, weight, scale, dy_then_dx, false, dw);
  EXPECT_TRUE(in_place.equal(y));
  EXPECT_TRUE(dy_then_dx.equal(dx));
}

TEST_P(RmsNormOf, ThreadsDoNotChangeABit) {
  const at::Tensor x = random({500, 64}), weight = random({64}), dy = random({500, 64});
  const at::Tensor scale = random({500}).abs();
  at::Tensor dx[2], dw[2];
  const int before = at::get_num_threads();
  for (int threads : {1, 2}) {
    at::set_num_threads(threads);
    dx[threads - 1] = at::empty_like(x);
    dw[threads - 1] = at::empty_like(weight);
    rms_norm_backward(dy, x, weight, scale, dx[threads - 1], false, dw[threads - 1]);
  }
  at::set_num_threads(before);
  EXPECT_TRUE(dx[0].equal(dx[1]));
  EXPECT_TRUE(dw[0].equal(dw[1]));
}

TEST(RmsNorm, ThePlainGradientIsThatOfAutograd) {
  at::manual_seed(2);
  const at::Tensor x = at::randn({5, 12}, at::kDouble).requires_grad_();
  const at::Tensor weight = at::randn({12}, at::kDouble).requires_grad_();
  const at::Tensor dy = at::randn({5, 12}, at::kDouble);
  (weight * x * (x.square().mean(1, true) + 1e-6).rsqrt() * dy).sum().backward();
  const at::Tensor y = at::empty({5, 12}, at::kDouble), scale = at::empty({5}, at::kDouble);
  const at::Tensor dx = at::empty_like(y), dw = at::empty({12}, at::kDouble);
  plain_rms_norm(x.detach(), weight.detach(), 1e-6, y, scale);
  plain_rms_norm_backward(dy, x.detach(), weight.detach(), scale, dx, false, dw);
  expect_close(dx, x.grad());
  expect_close(dw, weight.grad());
}

}  // namespace
}  // namespace draftlab

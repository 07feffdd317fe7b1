#include "kernels/gated_rms_norm.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <gtest/gtest.h>

#include "testing/closeness.h"

namespace draftlab {
namespace {

class GatedRmsNormOf : public testing::TestWithParam<at::ScalarType> {
 protected:
  void SetUp() override { at::manual_seed(1); }
  at::Tensor random(at::IntArrayRef shape) const {
    return at::randn(shape, at::kDouble).to(GetParam());
  }
};
INSTANTIATE_TEST_SUITE_P(Dtypes, GatedRmsNormOf, testing::Values(at::kFloat, at::kDouble));

TEST_P(GatedRmsNormOf, EqualsThePlainVersion) {
  for (int64_t rows : {0, 1, 7, 300}) {
    for (int64_t n : {1, 8, 64, 100}) {
      const at::Tensor x = random({rows, 3 * n}), z = random({rows, 3 * n}), weight = random({n});
      const at::Tensor dy = random({rows, 3 * n});
      at::Tensor y = at::empty_like(x), scale = at::empty({rows, 3}, x.options());
      at::Tensor plain_y = at::empty_like(x), plain_scale = at::empty_like(scale);
      gated_rms_norm(x, z, weight, 1e-6, y, scale);
      plain_gated_rms_norm(x, z, weight, 1e-6, plain_y, plain_scale);
      expect_close(y, plain_y);
      at::Tensor dx = at::empty_like(x), dz = at::empty_like(x), dw = at::empty_like(weight);
      at::Tensor plain_dx = at::empty_like(x), plain_dz = at::empty_like(x);
      at::Tensor plain_dw = at::empty_like(weight);
      gated_rms_norm_backward(dy, x, z, weight, plain_scale, dx, dz, dw);
      plain_gated_rms_norm_backward(dy, x, z, weight, plain_scale, plain_dx, plain_dz, plain_dw);
      expect_close(dx, plain_dx);
      expect_close(dz, plain_dz);
      expect_close(dw, plain_dw);
    }
  }
}

TEST_P(GatedRmsNormOf, MayWorkInPlaceAndOnSomeColumnsOfAWiderMatrix) {
  const at::Tensor wide = random({9, 60}), weight = random({10}), dy = random({9, 20});
  const at::Tensor x = wide.slice(1, 0, 20), z = wide.slice(1, 30, 50);
  at::Tensor y = at::empty({9, 20}, x.options()), scale = at::empty({9, 2}, x.options());
  at::Tensor dx = at::empty_like(y), dz = at::empty_like(y), dw = at::empty_like(weight);
  gated_rms_norm(x, z, weight, 1e-6, y, scale);
  gated_rms_norm_backward(dy, x, z, weight, scale, dx, dz, dw);
  at::Tensor in_place = wide.clone(), dy_then_dx = dy.clone(), z_then_dz = wide.clone();
  gated_rms_norm(in_place.slice(1, 0, 20), z, weight, 1e-6, in_place.slice(1, 0, 20), scale);
  gated_rms_norm_backward(dy_then_dx, x, z_then_dz.slice(1, 30, 50), weight, scale, dy_then_dx,
                          z_then_dz.slice(1, 30, 50), dw);
  EXPECT_TRUE(in_place.slice(1, 0, 20).equal(y));
  EXPECT_TRUE(dy_then_dx.equal(dx));
  EXPECT_TRUE(z_then_dz.slice(1, 30, 50).equal(dz));
}

TEST_P(GatedRmsNormOf, ThreadsDoNotChangeABit) {
  const at::Tensor x = random({500, 64}), z = random({500, 64}), weight = random({32});
  const at::Tensor dy = random({500, 64}), scale = random({500, 2}).abs();
  at::Tensor dx[2], dz[2], dw[2];
  const int before = at::get_num_threads();
  for (int threads : {1, 2}) {
    at::set_num_threads(threads);
    for (at::Tensor* d : {dx, dz}) d[threads - 1] = at::empty_like(x);
    dw[threads - 1] = at::empty_like(weight);
    gated_rms_norm_backward(dy, x, z, weight, scale, dx[threads - 1], dz[threads - 1],
                            dw[threads - 1]);
  }
  at::set_num_threads(before);
  EXPECT_TRUE(dx[0].equal(dx[1]));
  EXPECT_TRUE(dz[0].equal(dz[1]));
  EXPECT_TRUE(dw[0].equal(dw[1]));
}

TEST(GatedRmsNorm, ThePlainGradientIsThatOfAutograd) {
  at::manual_seed(2);
  const auto random = [](at::IntArrayRef shape) { return at::randn(shape, at::kDouble); };
  const at::Tensor x = random({5, 2, 6}).requires_grad_(), z = random({5, 2, 6}).requires_grad_();
  const at::Tensor weight = random({6}).requires_grad_(), dy = random({5, 2, 6});
  (weight * x * (x.square().mean(2, true) + 1e-6).rsqrt() * at::silu(z) * dy).sum().backward();
  const at::Tensor y = at::empty({5, 12}, at::kDouble), scale = at::empty({5, 2}, at::kDouble);
  const at::Tensor dx = at::empty_like(y), dz = at::empty_like(y), dw = at::empty({6}, at::kDouble);
  const at::Tensor flat_x = x.detach().flatten(1), flat_z = z.detach().flatten(1);
  plain_gated_rms_norm(flat_x, flat_z, weight.detach(), 1e-6, y, scale);
  plain_gated_rms_norm_backward(dy.flatten(1), flat_x, flat_z, weight.detach(), scale, dx, dz, dw);
  expect_close(dx, x.grad().flatten(1));
  expect_close(dz, z.grad().flatten(1));
  expect_close(dw, weight.grad());
}

}  // namespace
}  // namespace draftlab

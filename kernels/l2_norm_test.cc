#include "kernels/l2_norm.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "testing/closeness.h"

namespace draftlab {
namespace {

class L2NormOf : public testing::TestWithParam<at::ScalarType> {
 protected:
  void SetUp() override { at::manual_seed(1); }
  at::Tensor random(at::IntArrayRef shape) const {
    return at::randn(shape, at::kDouble).to(GetParam());
  }
};
INSTANTIATE_TEST_SUITE_P(Dtypes, L2NormOf, testing::Values(at::kFloat, at::kDouble));

TEST_P(L2NormOf, EqualsThePlainVersion) {
  for (int64_t rows : {0, 1, 300}) {
    for (int64_t n : {1, 8, 64, 100}) {
      const at::Tensor x = random({rows, 3 * n}), dy = random({rows, 3 * n});
      at::Tensor y = at::empty_like(x), norms = at::empty({rows, 3}, x.options());
      at::Tensor plain_y = at::empty_like(x), plain_norms = at::empty_like(norms);
      l2_norm(x, 0.125, 1e-6, y, norms);
      plain_l2_norm(x, 0.125, 1e-6, plain_y, plain_norms);
      expect_close(y, plain_y);
      at::Tensor dx = at::empty_like(x), plain_dx = at::empty_like(x);
      // One norm for both: that of a single number close to 0 magnifies rounding.
      l2_norm_backward(dy, plain_y, 0.125, plain_norms, dx);
      plain_l2_norm_backward(dy, plain_y, 0.125, plain_norms, plain_dx);
      expect_close(dx, plain_dx);
    }
  }
}

TEST_P(L2NormOf, WorksInPlaceOnSomeColumnsOfAWiderMatrix) {
  const at::Tensor wide = random({9, 50}), dy = random({9, 50});
  const at::Tensor x = wide.slice(1, 10, 30).contiguous();
  at::Tensor y = at::empty_like(x), norms = at::empty({9, 2}, x.options()), dx = at::empty_like(x);
  l2_norm(x, 1, 1e-6, y, norms);
  l2_norm_backward(dy.slice(1, 10, 30), y, 1, norms, dx);
  at::Tensor in_place = wide.clone(), dy_then_dx = dy.clone();
  l2_norm(in_place.slice(1, 10, 30), 1, 1e-6, in_place.slice(1, 10, 30), norms);
  l2_norm_backward(dy_then_dx.slice(1, 10, 30), y, 1, norms, dy_then_dx.slice(1, 10, 30));
  EXPECT_TRUE(in_place.slice(1, 10, 30).equal(y));
  EXPECT_TRUE(dy_then_dx.slice(1, 10, 30).equal(dx));
  EXPECT_TRUE(in_place.slice(1, 30).equal(wide.slice(1, 30))) << "other columns stay";
}

TEST(L2Norm, ThePlainGradientIsThatOfAutograd) {
  at::manual_seed(2);
  const at::Tensor x = (at::randn({5, 2, 6}, at::kDouble) * 1e-3).requires_grad_();
  const at::Tensor dy = at::randn({5, 2, 6}, at::kDouble);
  (0.5 * x * (x.square().sum(2, true) + 1e-6).rsqrt() * dy).sum().backward();
  const at::Tensor y = at::empty({5, 12}, at::kDouble), norms = at::empty({5, 2}, at::kDouble);
  const at::Tensor dx = at::empty({5, 12}, at::kDouble);
  plain_l2_norm(x.detach().flatten(1), 0.5, 1e-6, y, norms);
  plain_l2_norm_backward(dy.flatten(1), y, 0.5, norms, dx);
  expect_close(dx, x.grad().flatten(1));
}

}  // namespace
}  // namespace draftlab

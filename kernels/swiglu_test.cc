#include "kernels/swiglu.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <gtest/gtest.h>

#include "testing/closeness.h"

namespace draftlab {
namespace {

class SwigluOf : public testing::TestWithParam<at::ScalarType> {
 protected:
  void SetUp() override { at::manual_seed(1); }
  at::Tensor random(at::IntArrayRef shape) const {
    return at::randn(shape, at::kDouble).to(GetParam());
  }
};
INSTANTIATE_TEST_SUITE_P(Dtypes, SwigluOf, testing::Values(at::kFloat, at::kDouble));

TEST_P(SwigluOf, EqualsThePlainVersion) {
  const at::Tensor gate = random({50, 41}) * 20, up = random({50, 41}), d_out = random({50, 41});
  at::Tensor out = at::empty_like(gate), plain = at::empty_like(gate);
  swiglu(gate, up, out);
  plain_swiglu(gate, up, plain);
  expect_close(out, plain);
  at::Tensor d_gate = at::empty_like(gate), d_up = at::empty_like(gate);
  at::Tensor plain_d_gate = at::empty_like(gate), plain_d_up = at::empty_like(gate);
  plain_swiglu_backward(d_out, gate, up, plain_d_gate, plain_d_up);
  swiglu_backward(d_out, gate, up, d_gate, d_up);
  expect_close(d_gate, plain_d_gate);
  expect_close(d_up, plain_d_up);
  at::Tensor gate_in_place = gate.clone(), up_in_place = up.clone();
  swiglu_backward(d_out, gate_in_place, up_in_place, gate_in_place, up_in_place);
  EXPECT_TRUE(gate_in_place.equal(d_gate));
  EXPECT_TRUE(up_in_place.equal(d_up));
}

TEST(Swiglu, ThePlainGradientIsThatOfAutograd) {
  at::manual_seed(3);
  const at::Tensor gate = at::randn({4, 5}, at::kDouble).requires_grad_();
  const at::Tensor up = at::randn({4, 5}, at::kDouble).requires_grad_();
  const at::Tensor d_out = at::randn({4, 5}, at::kDouble);
  (at::silu(gate) * up * d_out).sum().backward();
  const at::Tensor d_gate = at::empty({4, 5}, at::kDouble), d_up = at::empty({4, 5}, at::kDouble);
  plain_swiglu_backward(d_out, gate.detach(), up.detach(), d_gate, d_up);
  expect_close(d_gate, gate.grad());
  expect_close(d_up, up.grad());
}

TEST(Swiglu, SurvivesGatesThatOverflowTheExponential) {
  const at::Tensor gate = at::tensor({-500.f, 500.f}), up = at::tensor({2.f, 2.f});
  const at::Tensor out = at::empty_like(gate);
  swiglu(gate, up, out);
  expect_close(out, at::tensor({0.f, 1000.f}));
}

}  // namespace
}  // namespace draftlab

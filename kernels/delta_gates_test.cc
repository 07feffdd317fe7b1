#include "kernels/delta_gates.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <gtest/gtest.h>

#include <cmath>

#include "testing/closeness.h"

namespace draftlab {
namespace {

struct Tensors {
  at::Tensor a, b, A_log, dt_bias, dg, dbeta, g, beta, da, db, d_A_log, d_dt_bias;

  Tensors(int64_t rows, int64_t heads, at::ScalarType dtype) {
    at::manual_seed(1);
    const auto random = [&](at::IntArrayRef shape) {
      return at::randn(shape, at::kDouble).to(dtype);
    };
    for (at::Tensor* x : {&a, &b, &dg, &dbeta}) *x = random({rows, heads});
    for (at::Tensor* x : {&A_log, &dt_bias}) *x = random({heads});
    for (at::Tensor* x : {&g, &beta, &da, &db}) *x = at::full_like(a, NAN);
    for (at::Tensor* x : {&d_A_log, &d_dt_bias}) *x = at::full_like(A_log, NAN);
  }
  void run() {
    delta_gates(a, b, A_log, dt_bias, g, beta);
    delta_gates_backward(dg, dbeta, a, A_log, dt_bias, g, beta, da, db, d_A_log, d_dt_bias);
  }
  void run_plain() {
    plain_delta_gates(a, b, A_log, dt_bias, g, beta);
    plain_delta_gates_backward(dg, dbeta, a, A_log, dt_bias, g, beta, da, db, d_A_log, d_dt_bias);
  }
};

TEST(DeltaGates, EqualThePlainVersion) {
  for (at::ScalarType dtype : {at::kFloat, at::kDouble}) {
    for (int64_t rows : {0, 1, 15, 16, 17, 1000}) {
      for (int64_t heads : {1, 4, 9}) {
        Tensors fast(rows, heads, dtype), plain(rows, heads, dtype);
        fast.run();
        plain.run_plain();
        expect_close(fast.g, plain.g);
        expect_close(fast.beta, plain.beta);
        expect_close(fast.da, plain.da);
        expect_close(fast.db, plain.db);
        expect_close(fast.d_A_log, plain.d_A_log);
        expect_close(fast.d_dt_bias, plain.d_dt_bias);
      }
    }
  }
}

TEST(DeltaGates, TheSoftplusIsExactFromTheSmallestToTheLargestInputs) {
  const at::Tensor a = at::linspace(-80, 80, 3201, at::kDouble).view({-1, 1});
  const at::Tensor one = at::zeros({1}), g = at::empty({3201, 1}), beta = at::empty({3201, 1});
  const at::Tensor rounded = a.to(at::kFloat);
  delta_gates(rounded, rounded, one, one, g, beta);
  const at::Tensor exact = rounded.to(at::kDouble);
  const at::Tensor softplus = exact.clamp_min(0) + exact.abs().neg().exp().log1p();
  EXPECT_LT((-g.to(at::kDouble) / softplus - 1).abs().max().item<double>(), 5e-7);
}

TEST(DeltaGates, ThePlainGradientIsThatOfAutograd) {
  Tensors t(7, 3, at::kDouble);
  t.run_plain();
  for (at::Tensor* x : {&t.a, &t.b, &t.A_log, &t.dt_bias}) x->requires_grad_();
  const at::Tensor g = -t.A_log.exp() * at::softplus(t.a + t.dt_bias);
  (g * t.dg + t.b.sigmoid() * t.dbeta).sum().backward();
  expect_close(t.da, t.a.grad());
  expect_close(t.db, t.b.grad());
  expect_close(t.d_A_log, t.A_log.grad());
  expect_close(t.d_dt_bias, t.dt_bias.grad());
}

TEST(DeltaGates, ThreadsDoNotChangeABit) {
  const int before = at::get_num_threads();
  Tensors one(5000, 4, at::kFloat), two(5000, 4, at::kFloat);
  at::set_num_threads(1);
  one.run();
  at::set_num_threads(2);
  two.run();
  at::set_num_threads(before);
  EXPECT_TRUE(one.g.equal(two.g));
  EXPECT_TRUE(one.da.equal(two.da));
  EXPECT_TRUE(one.d_A_log.equal(two.d_A_log));
  EXPECT_TRUE(one.d_dt_bias.equal(two.d_dt_bias));
}

}  // namespace
}  // namespace draftlab

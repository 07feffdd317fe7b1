#include "kernels/adamw_step.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <gtest/gtest.h>

#include "base/error.h"

namespace draftlab {
namespace {

struct State {
  State(at::IntArrayRef shape, at::ScalarType dtype) {
    at::manual_seed(3);
    const auto options = at::TensorOptions().dtype(dtype);
    w = at::randn(shape, options);
    m = 0.1 * at::randn(shape, options);
    v = at::rand(shape, options);
    g = at::randn(shape, options);
  }
  at::Tensor w, g, m, v;
};

const AdamWStep kStep{.learning_rate = 3e-3,
                      .beta1 = 0.9,
                      .beta2 = 0.95,
                      .epsilon = 1e-8,
                      .weight_decay = 0.1,
                      .t = 7};

double distance(const at::Tensor& a, const at::Tensor& b) {
  return (a - b).abs().max().item<double>();
}

TEST(AdamWStep, OnePassEqualsThePlainVersion) {
  for (const auto& [dtype, tolerance] :
       {std::pair{at::kDouble, 1e-15}, std::pair{at::kFloat, 5e-7}}) {
    for (const int64_t size : {0, 1, 17, 100003}) {
      State plain({size}, dtype), fused({size}, dtype);
      for (int64_t t = 1; t <= 3; ++t) {
        AdamWStep step = kStep;
        step.t = t;
        adamw_step_plain(plain.w, plain.g, plain.m, plain.v, step);
        adamw_step(fused.w, fused.g, fused.m, fused.v, step);
      }
      if (size == 0) continue;
      EXPECT_LE(distance(plain.w, fused.w), tolerance);
      EXPECT_LE(distance(plain.m, fused.m), tolerance);
      EXPECT_LE(distance(plain.v, fused.v), tolerance);
    }
  }
}

TEST(AdamWStep, FirstStepMovesEveryEntryByTheRate) {
  State s({50}, at::kDouble);
  s.m.zero_(), s.v.zero_();
  const at::Tensor before = s.w.clone();
  adamw_step(s.w, s.g, s.m, s.v, {.learning_rate = 0.01, .epsilon = 1e-30, .t = 1});
  EXPECT_LE(distance(s.w, before - 0.01 * s.g.sign()), 1e-12);
}

TEST(AdamWStep, ThreadsDoNotChangeABit) {
  const int threads = at::get_num_threads();
  State one({300001}, at::kFloat), many({300001}, at::kFloat);
  at::set_num_threads(1);
  adamw_step(one.w, one.g, one.m, one.v, kStep);
  at::set_num_threads(3);
  adamw_step(many.w, many.g, many.m, many.v, kStep);
  at::set_num_threads(threads);
  EXPECT_TRUE(at::equal(one.w, many.w) && at::equal(one.m, many.m) && at::equal(one.v, many.v));
}

TEST(AdamWStep, TensorsThatAreNotContiguousGiveTheSame) {
  State s({40, 30}, at::kDouble), t({40, 30}, at::kDouble);
  at::Tensor g = s.g.t().contiguous().t();
  ASSERT_FALSE(g.is_contiguous());
  adamw_step(s.w, g, s.m, s.v, kStep);
  adamw_step(t.w, t.g, t.m, t.v, kStep);
  EXPECT_LE(distance(s.w, t.w), 1e-15);
}

TEST(AdamWStep, NotANumberIsSeen) {
  State s({40}, at::kFloat);
  s.g[11] = NAN;
  adamw_step(s.w, s.g, s.m, s.v, kStep);
  EXPECT_EQ(s.w.isnan().sum().item<int64_t>(), 1);
}

TEST(AdamWStep, RefusesTensorsThatDoNotFit) {
  State s({40}, at::kFloat);
  EXPECT_THROW(adamw_step(s.w, s.g.to(at::kDouble), s.m, s.v, kStep), c10::Error);
  at::Tensor longer = at::zeros({41});
  EXPECT_THROW(adamw_step(s.w, s.g, longer, s.v, kStep), c10::Error);
}

}  // namespace
}  // namespace draftlab

#include "kernels/adamw_step.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <gtest/gtest.h>

#include <vector>

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
                      .m_steps = 7,
                      .v_steps = 9};

// The plain form and the cautious ones.
std::vector<AdamWStep> every_form() {
  std::vector<AdamWStep> forms;
  for (const bool decay : {false, true}) {
    for (const bool mask : {false, true}) {
      forms.push_back(kStep);
      forms.back().cautious_decay = decay;
      forms.back().cautious = mask;
    }
  }
  return forms;
}

double distance(const at::Tensor& a, const at::Tensor& b) {
  return (a - b).abs().max().item<double>();
}

TEST(AdamWStep, OnePassEqualsThePlainVersion) {
  for (const AdamWStep& form : every_form()) {
    for (const auto& [dtype, tolerance] :
         {std::pair{at::kDouble, 2e-15}, std::pair{at::kFloat, 1e-6}}) {
      for (const int64_t size : {0, 1, 17, 100003}) {
        State plain({size}, dtype), fused({size}, dtype);
        for (int64_t t = 1; t <= 3; ++t) {
          AdamWStep step = form;
          step.m_steps = t;
          step.v_steps = 2 * t;
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
}

TEST(AdamWStep, CautiousDecayLeavesEntriesThatTheUpdateMakesLarger) {
  State s({4}, at::kDouble);
  s.w = at::tensor({2.0, -2.0, 2.0, 0.0}, at::kDouble);
  s.g = at::tensor({1.0, 1.0, 0.0, 1.0}, at::kDouble);  // the third one does not move
  s.m.zero_(), s.v.zero_();
  adamw_step(s.w, s.g, s.m, s.v,
             {.learning_rate = 0.1, .epsilon = 1e-30, .weight_decay = 0.5, .cautious_decay = true});
  EXPECT_LE(distance(s.w, at::tensor({1.9 - 0.1, -2.1, 1.9, -0.1}, at::kDouble)), 1e-15);
}

TEST(AdamWStep, TheCautiousMaskDropsAndRescales) {
  State s({4}, at::kDouble);
  s.w.zero_(), s.v.zero_();
  s.m = at::tensor({9.0, -9.0, 9.0, 9.0}, at::kDouble);
  s.g = at::tensor({1.0, 1.0, -1.0, 0.0}, at::kDouble);  // one of four agrees
  adamw_step(s.w, s.g, s.m, s.v,
             {.learning_rate = 0.1, .beta2 = 0, .epsilon = 1, .cautious = true});
  EXPECT_LE(distance(s.w, at::tensor({-0.1 * 4 * 82 / 2, 0.0, 0.0, 0.0}, at::kDouble)), 1e-12);
}

TEST(AdamWStep, EachMomentHasItsOwnBiasCorrection) {
  State s({50}, at::kDouble);
  s.w.zero_(), s.m.zero_();
  s.v = s.g * s.g;  // an old average
  adamw_step(s.w, s.g, s.m, s.v,
             {.learning_rate = 0.01, .epsilon = 1e-30, .m_steps = 1, .v_steps = 1000000});
  EXPECT_LE(distance(s.w, -0.01 * s.g.sign()), 1e-12);
}

TEST(AdamWStep, FirstStepMovesEveryEntryByTheRate) {
  State s({50}, at::kDouble);
  s.m.zero_(), s.v.zero_();
  const at::Tensor before = s.w.clone();
  adamw_step(s.w, s.g, s.m, s.v, {.learning_rate = 0.01, .epsilon = 1e-30});
  EXPECT_LE(distance(s.w, before - 0.01 * s.g.sign()), 1e-12);
}

TEST(AdamWStep, ThreadsDoNotChangeABit) {
  const int threads = at::get_num_threads();
  for (const AdamWStep& form : every_form()) {
    State one({300001}, at::kFloat), many({300001}, at::kFloat);
    at::set_num_threads(1);
    adamw_step(one.w, one.g, one.m, one.v, form);
    at::set_num_threads(3);
    adamw_step(many.w, many.g, many.m, many.v, form);
    EXPECT_TRUE(at::equal(one.w, many.w) && at::equal(one.m, many.m) && at::equal(one.v, many.v));
  }
  at::set_num_threads(threads);
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
  for (const AdamWStep& form : every_form()) {
    State s({40}, at::kFloat);
    s.g[11] = NAN;
    adamw_step(s.w, s.g, s.m, s.v, form);
    EXPECT_EQ(s.w.isnan().sum().item<int64_t>(), 1);
  }
}

TEST(AdamWStep, RefusesTensorsThatDoNotFit) {
  State s({40}, at::kFloat);
  EXPECT_THROW(adamw_step(s.w, s.g.to(at::kDouble), s.m, s.v, kStep), c10::Error);
  at::Tensor longer = at::zeros({41});
  EXPECT_THROW(adamw_step(s.w, s.g, longer, s.v, kStep), c10::Error);
}

}  // namespace
}  // namespace draftlab

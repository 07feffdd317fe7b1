#include "kernels/lion_step.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <gtest/gtest.h>

#include <vector>

namespace draftlab {
namespace {

struct State {
  State(int64_t size, at::ScalarType dtype) {
    at::manual_seed(3);
    w = at::randn({size}, dtype);
    m = 0.1 * at::randn({size}, dtype);
    g = at::randn({size}, dtype);
  }
  at::Tensor w, g, m;
};

std::vector<LionStep> every_form() {
  std::vector<LionStep> forms;
  for (const bool decay : {false, true}) {
    for (const bool mask : {false, true})
      forms.push_back({.learning_rate = 3e-3,
                       .beta1 = 0.9,
                       .beta2 = 0.95,
                       .weight_decay = 0.1,
                       .cautious_decay = decay,
                       .cautious = mask});
  }
  return forms;
}

double distance(const at::Tensor& a, const at::Tensor& b) {
  return (a - b).abs().max().item<double>();
}

TEST(LionStep, OnePassEqualsThePlainVersion) {
  for (const LionStep& form : every_form()) {
    for (const auto& [dtype, tolerance] :
         {std::pair{at::kDouble, 2e-15}, std::pair{at::kFloat, 1e-6}}) {
      for (const int64_t size : {0, 1, 17, 100003}) {
        State plain(size, dtype), fused(size, dtype);
        for (int t = 0; t < 3; ++t) {
          lion_step_plain(plain.w, plain.g, plain.m, form);
          lion_step(fused.w, fused.g, fused.m, form);
        }
        if (size == 0) continue;
        EXPECT_LE(distance(plain.w, fused.w), tolerance);
        EXPECT_LE(distance(plain.m, fused.m), tolerance);
      }
    }
  }
}

TEST(LionStep, MovesByTheSignOfTheMixAndNotWhereItIsZero) {
  State s(3, at::kDouble);
  s.w.zero_();
  s.m = at::tensor({1.0, -1.0, 0.0}, at::kDouble);
  s.g = at::tensor({-10.0, 8.0, 0.0}, at::kDouble);  // .9 - 1 and -.9 + .8
  lion_step(s.w, s.g, s.m, {.learning_rate = 0.1});
  EXPECT_LE(distance(s.w, at::tensor({0.1, 0.1, 0.0}, at::kDouble)), 1e-15);
  EXPECT_LE(distance(s.m, at::tensor({0.89, -0.91, 0.0}, at::kDouble)), 1e-15);
}

TEST(LionStep, TheCautiousMaskDropsAndRescales) {
  State s(4, at::kDouble);
  s.w.zero_();
  s.m = at::tensor({9.0, 9.0, -9.0, 9.0}, at::kDouble);
  s.g = at::tensor({1.0, -1.0, 1.0, 0.0}, at::kDouble);  // one of four agrees: times 4 / (1 + 1)
  lion_step(s.w, s.g, s.m, {.learning_rate = 0.1, .cautious = true});
  EXPECT_LE(distance(s.w, at::tensor({-0.2, 0.0, 0.0, 0.0}, at::kDouble)), 1e-15);
}

TEST(LionStep, ThreadsDoNotChangeABit) {
  const int threads = at::get_num_threads();
  for (const LionStep& form : every_form()) {
    State one(300001, at::kFloat), many(300001, at::kFloat);
    at::set_num_threads(1);
    lion_step(one.w, one.g, one.m, form);
    at::set_num_threads(3);
    lion_step(many.w, many.g, many.m, form);
    EXPECT_TRUE(at::equal(one.w, many.w) && at::equal(one.m, many.m));
  }
  at::set_num_threads(threads);
}

TEST(LionStep, NotANumberIsSeen) {
  for (const LionStep& form : every_form()) {
    State fused(40, at::kFloat), plain(40, at::kFloat);
    fused.g[11] = plain.g[11] = NAN;
    lion_step(fused.w, fused.g, fused.m, form);
    lion_step_plain(plain.w, plain.g, plain.m, form);
    EXPECT_EQ(fused.w.isnan().sum().item<int64_t>(), 1);
    EXPECT_EQ(plain.w.isnan().sum().item<int64_t>(), 1);
  }
}

}  // namespace
}  // namespace draftlab

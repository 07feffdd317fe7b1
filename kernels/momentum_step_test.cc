#include "kernels/momentum_step.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <gtest/gtest.h>

#include <vector>

namespace draftlab {
namespace {

at::Tensor random(at::IntArrayRef shape, at::ScalarType dtype, uint64_t seed) {
  at::manual_seed(seed);
  return at::randn(shape, at::kDouble).to(dtype);
}

double distance(const at::Tensor& a, const at::Tensor& b) {
  return a.numel() == 0 ? 0 : (a - b).abs().max().item<double>();
}

std::vector<MomentumStep> every_form() {
  std::vector<MomentumStep> forms;
  for (int bits = 0; bits < 8; ++bits)
    forms.push_back({.momentum = 0.9,
                     .accumulate = (bits & 1) != 0,
                     .nesterov = (bits & 2) != 0,
                     .cautious = (bits & 4) != 0});
  return forms;
}

const std::vector<std::pair<at::ScalarType, double>> kTolerances = {{at::kDouble, 1e-13},
                                                                    {at::kFloat, 2e-5}};

TEST(MomentumStep, OnePassEqualsThePlainVersion) {
  for (const MomentumStep& form : every_form()) {
    for (const auto& [dtype, tolerance] : kTolerances) {
      for (const int64_t size : {0, 1, 17, 100003}) {
        at::Tensor m = random({size}, dtype, 1), expected_m = m.clone(), u = at::empty_like(m),
                   expected_u = at::empty_like(m);
        for (uint64_t t = 0; t < 3; ++t) {
          const at::Tensor g = random({size}, dtype, 10 + t);
          momentum_step(m, g, u, form);
          momentum_step_plain(expected_m, g, expected_u, form);
        }
        EXPECT_LE(distance(m, expected_m), tolerance);
        EXPECT_LE(distance(u, expected_u), tolerance);
      }
    }
  }
}

TEST(MomentumStep, FirstDirectionsHaveTheKnownFactors) {
  const at::Tensor g = random({30}, at::kDouble, 1);
  const auto factor = [&](bool accumulate, bool nesterov) {
    at::Tensor m = at::zeros_like(g), u = at::empty_like(g);
    momentum_step(m, g, u, {.accumulate = accumulate, .nesterov = nesterov});
    return (u / g).mean().item<double>();
  };
  EXPECT_NEAR(factor(false, true), 0.0975, 1e-12);
  EXPECT_NEAR(factor(true, true), 1.95, 1e-12);
  EXPECT_NEAR(factor(false, false), 0.05, 1e-12);
  EXPECT_NEAR(factor(true, false), 1, 1e-12);
}

TEST(MomentumStep, TinyNumbersKeepTheirSigns) {
  // Their products are zero in float32.
  const at::Tensor g = random({40}, at::kFloat, 1) * 1e-30;
  at::Tensor m = at::zeros_like(g), u = at::empty_like(g);
  momentum_step(m, g, u, {.cautious = true});
  EXPECT_EQ((u == 0).sum().item<int64_t>(), 0);
}

TEST(WeightStep, OnePassEqualsThePlainVersion) {
  for (const bool cautious : {false, true}) {
    const WeightStep step{.rate = 0.3, .shrink = 0.2, .cautious = cautious};
    for (const auto& [dtype, tolerance] : kTolerances) {
      for (const auto& shape : {std::vector<int64_t>{0, 3}, {1, 7}, {33, 70}, {3, 16, 20}}) {
        at::Tensor w = random(shape, dtype, 1), expected = w.clone();
        const at::Tensor o = random(shape, dtype, 2);
        weight_step(w, o, step);
        weight_step_plain(expected, o, step);
        EXPECT_LE(distance(w, expected), tolerance);
      }
      for (const auto& [rows, cols] : {std::pair<int64_t, int64_t>{70, 33}, {16, 5}, {200, 300}}) {
        at::Tensor w = random({rows, cols}, dtype, 1), expected = w.clone();
        const at::Tensor o = random({cols, rows}, dtype, 2).t();
        weight_step(w, o, step);
        weight_step_plain(expected, o, step);
        EXPECT_LE(distance(w, expected), tolerance);
      }
    }
  }
}

TEST(WeightStep, CautiousDecayLeavesEntriesThatTheUpdateMakesLarger) {
  at::Tensor w = at::tensor({2.0, -2.0, 2.0}, at::kDouble);
  weight_step(w, at::tensor({1.0, 1.0, 0.0}, at::kDouble),
              {.rate = 0.1, .shrink = 0.05, .cautious = true});
  EXPECT_LE(distance(w, at::tensor({1.8, -2.1, 1.9}, at::kDouble)), 1e-15);
}

TEST(WeightStep, ThreadsDoNotChangeABit) {
  const int threads = at::get_num_threads();
  for (const bool transposed : {false, true}) {
    const at::Tensor o =
        transposed ? random({500, 700}, at::kFloat, 2).t() : random({700, 500}, at::kFloat, 2);
    at::Tensor one = random({700, 500}, at::kFloat, 1), many = one.clone();
    at::set_num_threads(1);
    weight_step(one, o, {.rate = 0.3, .shrink = 0.2});
    at::set_num_threads(3);
    weight_step(many, o, {.rate = 0.3, .shrink = 0.2});
    EXPECT_TRUE(at::equal(one, many));
  }
  at::set_num_threads(threads);
}

}  // namespace
}  // namespace draftlab

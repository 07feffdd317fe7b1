#include "kernels/adam_mini_step.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <gtest/gtest.h>

#include <vector>

namespace draftlab {
namespace {

const AdamWStep kStep{
    .learning_rate = 3e-3, .beta2 = 0.95, .weight_decay = 0.1, .m_steps = 4, .v_steps = 4};

struct State {
  State(int64_t entries, int64_t blocks, at::ScalarType dtype) {
    at::manual_seed(3);
    w = at::randn({entries}, dtype);
    m = 0.1 * at::randn({entries}, dtype);
    v = at::rand({blocks}, dtype);
    g = at::randn({entries}, dtype);
  }
  at::Tensor w, g, m, v;
};

double distance(const at::Tensor& a, const at::Tensor& b) {
  return (a - b).abs().max().item<double>();
}

const std::vector<std::vector<int64_t>> kBlocks = {
    {1}, {100}, {17, 17, 17}, {5, 40000, 1, 33}, std::vector<int64_t>(300, 64)};

int64_t sum(const std::vector<int64_t>& sizes) {
  int64_t all = 0;
  for (const int64_t size : sizes) all += size;
  return all;
}

TEST(AdamMiniStep, OneReadOfEachBlockEqualsThePlainVersion) {
  for (const auto& [dtype, tolerance] :
       {std::pair{at::kDouble, 1e-13}, std::pair{at::kFloat, 1e-5}}) {
    for (const auto& sizes : kBlocks) {
      const auto blocks = static_cast<int64_t>(sizes.size());
      State plain(sum(sizes), blocks, dtype), fused(sum(sizes), blocks, dtype);
      for (int t = 0; t < 2; ++t) {
        adam_mini_step_plain(plain.w, plain.g, plain.m, plain.v, sizes, kStep);
        adam_mini_step(fused.w, fused.g, fused.m, fused.v, sizes, kStep);
      }
      EXPECT_LE(distance(plain.w, fused.w), tolerance);
      EXPECT_LE(distance(plain.m, fused.m), tolerance);
      EXPECT_LE(distance(plain.v, fused.v), tolerance);
    }
  }
}

TEST(AdamMiniStep, BlocksOfOneEntryAreAdamW) {
  State mini(200, 200, at::kDouble), adamw(200, 200, at::kDouble);
  adam_mini_step(mini.w, mini.g, mini.m, mini.v, std::vector<int64_t>(200, 1), kStep);
  adamw_step(adamw.w, adamw.g, adamw.m, adamw.v, kStep);
  EXPECT_LE(distance(mini.w, adamw.w), 1e-14);
}

TEST(AdamMiniStep, ThreadsDoNotChangeABit) {
  const int threads = at::get_num_threads();
  const std::vector<int64_t> sizes(700, 500);
  State one(sum(sizes), 700, at::kFloat), many(sum(sizes), 700, at::kFloat);
  at::set_num_threads(1);
  adam_mini_step(one.w, one.g, one.m, one.v, sizes, kStep);
  at::set_num_threads(3);
  adam_mini_step(many.w, many.g, many.m, many.v, sizes, kStep);
  at::set_num_threads(threads);
  EXPECT_TRUE(at::equal(one.w, many.w) && at::equal(one.m, many.m) && at::equal(one.v, many.v));
}

TEST(AdamMiniStep, RefusesBlocksThatDoNotCoverTheWeight) {
  State s(40, 2, at::kFloat);
  EXPECT_THROW(adam_mini_step(s.w, s.g, s.m, s.v, {20, 21}, kStep), c10::Error);
  EXPECT_THROW(adam_mini_step(s.w, s.g, s.m, s.v, {40}, kStep), c10::Error);
}

}  // namespace
}  // namespace draftlab

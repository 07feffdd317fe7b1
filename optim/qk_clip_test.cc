#include "optim/qk_clip.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "source_dir.h"
#include "testing/every_configuration.h"
#include "testing/golden_trajectory.h"

namespace draftlab {
namespace {

using ::testing::HasSubstr;

at::Tensor logits(std::vector<double> values) { return at::tensor(values, at::kDouble); }

TEST(QkClip, EqualsTheGoldenHeads) {
  const Json golden = read_json(DRAFTLAB_SOURCE_DIR "/tests/golden/misc.json").at("qk_clip");
  const at::Tensor q = golden_matrix(golden.at("Wq"), 4, 3),
                   k = golden_matrix(golden.at("Wk"), 4, 3);
  qk_clip(q, k, golden_matrix(golden.at("S_max"), 1, 2).view(-1), 100);
  EXPECT_LE(largest_difference(q, golden_matrix(golden.at("mha_Wq_after_sqrt_gamma"), 4, 3)),
            1e-15);
  EXPECT_LE(largest_difference(k, golden_matrix(golden.at("mha_Wk_after_sqrt_gamma"), 4, 3)),
            1e-15);
}

TEST(QkClip, BringsTheLargestLogitsOfGroupsDownToTheThreshold) {
  // Four query heads of two rows, two key heads.
  at::manual_seed(1);
  const at::Tensor q = at::randn({8, 5}, at::kDouble), k = at::randn({4, 5}, at::kDouble),
                   x = at::randn({7, 5}, at::kDouble);
  const auto largest = [&] {
    std::vector<double> all;
    for (int64_t h = 0; h < 4; ++h)
      all.push_back(x.mm(q.narrow(0, 2 * h, 2).t())
                        .mm(k.narrow(0, 2 * (h / 2), 2).mm(x.t()))
                        .max()
                        .item<double>());
    return all;
  };
  const std::vector<double> before = largest();
  const double threshold = *std::max_element(before.begin(), before.end()) / 3;
  qk_clip(q, k, logits(before), threshold);
  const std::vector<double> after = largest();
  for (size_t h = 0; h < 4; ++h) {
    const double worst = std::max(before[h / 2 * 2], before[h / 2 * 2 + 1]);
    EXPECT_NEAR(after[h], before[h] * std::min(1.0, threshold / worst),
                1e-12 * std::abs(before[h]));
    EXPECT_LE(after[h], threshold * (1 + 1e-12));
  }
}

TEST(QkClip, TakesAVectorThatAllHeadsShare) {
  const at::Tensor q = at::ones({6}), k = 2 * at::ones({6});
  qk_clip(q, k, logits({400}), 100);
  EXPECT_TRUE(at::allclose(q, 0.5 * at::ones({6})));
  EXPECT_TRUE(at::allclose(k, at::ones({6})));
}

TEST(QkClip, LeavesHeadsBelowTheThresholdAlone) {
  const at::Tensor q = at::randn({4, 3}), k = at::randn({4, 3}), q0 = q.clone(), k0 = k.clone();
  qk_clip(q, k, logits({100, -7}), 100);
  EXPECT_TRUE(at::equal(q, q0) && at::equal(k, k0));
}

TEST(QkClip, RefusesLogitsThatAreNotFiniteAndHeadsThatDoNotDivide) {
  const at::Tensor q = at::ones({4, 3}), k = at::ones({4, 3});
  EXPECT_THAT(error_of([&] { qk_clip(q, k, logits({900, NAN}), 100); }), HasSubstr("head 1"));
  EXPECT_THAT(error_of([&] { qk_clip(q, k, logits({INFINITY, 1}), 100); }), HasSubstr("head 0"));
  EXPECT_THAT(error_of([&] { qk_clip(q, k, logits({1, 1, 1}), 100); }), HasSubstr("3 heads"));
  EXPECT_TRUE(at::equal(q, at::ones({4, 3})));
}

}  // namespace
}  // namespace draftlab

#include "kernels/frozen_head_loss.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "testing/closeness.h"

namespace draftlab {
namespace {

using testing::ElementsAre;

struct Rows {
  at::Tensor hidden, head, d_hidden;
  std::vector<int64_t> labels;
  std::vector<double> scales, losses;

  Rows(int64_t rows, int64_t width, int64_t vocabulary, at::ScalarType dtype) {
    at::manual_seed(1);
    // Logits of a few tens, as an untrained drafter's: the running maximum has to move.
    hidden = (at::randn({rows, width}, at::kDouble) * 3).to(dtype);
    head = at::randn({vocabulary, width}, at::kDouble).to(dtype);
    d_hidden = at::full_like(hidden, NAN);
    for (int64_t r = 0; r < rows; ++r) {
      labels.push_back((r * 7919 + 3) % vocabulary);
      scales.push_back(0.5 + static_cast<double>(r % 3));
    }
    losses.resize(rows, NAN);
  }
};

// Vocabularies below, at and above multiples of the chunk; rows below and above a tile.
const std::vector<std::vector<int64_t>> kShapes = {{1, 4, 1},    {3, 8, 32},       {5, 16, 512},
                                                   {9, 16, 513}, {1100, 12, 1500}, {0, 4, 9}};

TEST(FrozenHeadLoss, EqualsThePlainVersion) {
  for (at::ScalarType dtype : {at::kFloat, at::kDouble}) {
    for (const auto& shape : kShapes) {
      Rows fast(shape[0], shape[1], shape[2], dtype), plain = fast;
      plain.d_hidden = at::full_like(plain.hidden, NAN);
      frozen_head_loss(fast.hidden, fast.head, fast.labels, fast.scales, fast.losses,
                       fast.d_hidden);
      plain_frozen_head_loss(plain.hidden, plain.head, plain.labels, plain.scales, plain.losses,
                             plain.d_hidden);
      expect_close(fast.d_hidden, plain.d_hidden);
      for (size_t r = 0; r < fast.losses.size(); ++r)
        ASSERT_NEAR(fast.losses[r], plain.losses[r],
                    tolerance(fast.hidden) * std::max(1.0, plain.losses[r]));
    }
  }
}

TEST(FrozenHeadLoss, ThePlainGradientIsThatOfAutograd) {
  Rows rows(6, 5, 40, at::kDouble);
  plain_frozen_head_loss(rows.hidden, rows.head, rows.labels, rows.scales, rows.losses,
                         rows.d_hidden);
  const at::Tensor hidden = rows.hidden.clone().requires_grad_();
  const at::Tensor losses = at::cross_entropy_loss(
      hidden.matmul(rows.head.t()), at::tensor(rows.labels), {}, at::Reduction::None);
  (losses * at::tensor(rows.scales, at::kDouble)).sum().backward();
  expect_close(rows.d_hidden, hidden.grad());
  expect_close(at::tensor(rows.losses, at::kDouble), losses.detach());
}

TEST(FrozenHeadTop, GivesTheSameLossesAndThePlainIdsAndProbabilities) {
  for (at::ScalarType dtype : {at::kFloat, at::kDouble}) {
    for (const auto& shape : kShapes) {
      for (const int64_t k : {1, 5, 40}) {  // the last one above the smallest vocabularies
        Rows fast(shape[0], shape[1], shape[2], dtype), plain = fast;
        if (shape[0] > 2) fast.labels[2] = plain.labels[2] = -1;
        std::vector<int64_t> ids(shape[0] * k, -7), plain_ids = ids;
        std::vector<double> log_p(shape[0] * k, NAN), plain_log_p = log_p;
        frozen_head_top(fast.hidden, fast.head, fast.labels, fast.losses, {k, ids, log_p});
        plain_frozen_head_top(plain.hidden, plain.head, plain.labels, plain.losses,
                              {k, plain_ids, plain_log_p});
        EXPECT_EQ(ids, plain_ids);
        for (size_t i = 0; i < log_p.size(); ++i) {
          ASSERT_EQ(ids[i] < 0, static_cast<int64_t>(i) % k >= shape[2]);
          if (ids[i] < 0) {
            ASSERT_EQ(log_p[i], -INFINITY);
            continue;
          }
          ASSERT_NEAR(log_p[i], plain_log_p[i],
                      tolerance(fast.hidden) * std::max(1.0, -plain_log_p[i]));
        }
        for (size_t r = 0; r < fast.losses.size(); ++r)
          ASSERT_NEAR(fast.losses[r], plain.losses[r],
                      tolerance(fast.hidden) * std::max(1.0, plain.losses[r]));
        if (shape[0] > 2) {
          EXPECT_EQ(fast.losses[2], 0);
        }
        std::vector<int64_t> unasked(ids.size());
        frozen_head_top(fast.hidden, fast.head, fast.labels, fast.losses, {k, unasked});
        EXPECT_EQ(unasked, ids) << "without the probabilities";
      }
    }
  }
}

TEST(FrozenHeadTop, OfEqualLogitsTheLowestIdComesFirst) {
  const at::Tensor hidden = at::ones({2, 1});
  at::Tensor head = at::zeros({1200, 1});
  for (int64_t id : {7, 9, 600, 1199}) head[id] = 2;
  head[601] = 3;
  std::vector<int64_t> labels = {0, 0};
  std::vector<double> losses(2);
  for (const auto top : {frozen_head_top, plain_frozen_head_top}) {
    std::vector<int64_t> ids(2 * 6);
    top(hidden, head, labels, losses, {6, ids});
    EXPECT_THAT(ids, ElementsAre(601, 7, 9, 600, 1199, 0, 601, 7, 9, 600, 1199, 0));
  }
}

TEST(FrozenHeadTop, ANotANumberIsNobodysBest) {
  const at::Tensor hidden = at::ones({1, 1});
  at::Tensor head = at::zeros({700, 1});
  head[3] = NAN;
  head[650] = 1;
  std::vector<int64_t> labels = {0};
  std::vector<double> losses(1);
  for (const auto top : {frozen_head_top, plain_frozen_head_top}) {
    std::vector<int64_t> ids(2);
    top(at::full({1, 1}, NAN), head, labels, losses, {2, ids});
    EXPECT_THAT(ids, ElementsAre(-1, -1));
    EXPECT_TRUE(std::isnan(losses[0]));
  }
}

TEST(FrozenHeadLoss, LogitsFarApartNeitherOverflowNorVanish) {
  // The largest logit, 300, comes after a whole chunk of much smaller ones; then smaller ones
  // follow.
  const at::Tensor hidden = at::ones({1, 1});
  at::Tensor head = at::full({1400, 1}, -300.f);
  head[600] = 300;
  head[601] = 299;
  std::vector<int64_t> labels = {601};
  std::vector<double> scales = {1}, losses(1);
  at::Tensor d_hidden = at::empty_like(hidden);
  frozen_head_loss(hidden, head, labels, scales, losses, d_hidden);
  EXPECT_NEAR(losses[0], 1 + std::log1p(std::exp(-1.0)), 1e-4);
  EXPECT_NEAR(d_hidden.item<double>(), (300 + 299 * std::exp(-1.0)) / (1 + std::exp(-1.0)) - 299,
              1e-2);
}

TEST(FrozenHeadLoss, ANotANumberStaysVisible) {
  Rows rows(3, 4, 600, at::kFloat);
  rows.hidden[1][2] = NAN;
  frozen_head_loss(rows.hidden, rows.head, rows.labels, rows.scales, rows.losses, rows.d_hidden);
  EXPECT_FALSE(std::isnan(rows.losses[0]));
  EXPECT_TRUE(std::isnan(rows.losses[1]));
  EXPECT_TRUE(rows.d_hidden[1].isnan().all().item<bool>());
}

TEST(FrozenHeadLoss, RefusesALabelThatIsNoRowOfTheHead) {
  Rows rows(3, 4, 10, at::kFloat);
  rows.labels[1] = 10;
  EXPECT_THROW(frozen_head_loss(rows.hidden, rows.head, rows.labels, rows.scales, rows.losses,
                                rows.d_hidden),
               c10::Error);
}

}  // namespace
}  // namespace draftlab

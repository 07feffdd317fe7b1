#include "kernels/frozen_head_divergence.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "kernels/frozen_head_loss.h"
#include "testing/closeness.h"

namespace draftlab {
namespace {

// sum of p q^2 (log p - log q): uses all that a row holds, and means nothing.
class Made : public RowLoss {
 public:
  double row(const DistributionRow<float>& row, float* d_logits) const override {
    return of(row, d_logits);
  }
  double row(const DistributionRow<double>& row, double* d_logits) const override {
    return of(row, d_logits);
  }
  at::Tensor plain(const at::Tensor& log_p, const at::Tensor& log_q, const at::Tensor&,
                   at::Tensor* d_logits) const override {
    const at::Tensor p = log_p.exp(), q = log_q.exp(), ratio = log_p - log_q;
    if (d_logits != nullptr) {
      const at::Tensor slope = p * q * q * (2 * ratio - 1);
      *d_logits = slope - q * slope.sum(1, true);
    }
    return (p * q * q * ratio).sum(1);
  }

 private:
  template <typename T>
  static double of(const DistributionRow<T>& row, T* d_logits) {
    double loss = 0, mean = 0;
    for (int64_t v = 0; v < row.size; ++v) {
      const double p = row.p[v], q = row.q[v], ratio = row.log_p[v] - row.log_q[v];
      loss += p * q * q * ratio;
      const double slope = p * q * q * (2 * ratio - 1);
      if (d_logits != nullptr) d_logits[v] = static_cast<T>(slope);
      mean += slope;
    }
    if (d_logits != nullptr) {
      for (int64_t v = 0; v < row.size; ++v) d_logits[v] -= static_cast<T>(row.q[v] * mean);
    }
    return loss;
  }
};

struct Rows {
  at::Tensor hidden, head, target, d_hidden;
  std::vector<int64_t> target_rows, labels;
  std::vector<double> losses, cross_entropies, log_sums;

  // Every target belongs to three neighbours.
  Rows(int64_t rows, int64_t width, int64_t vocabulary, at::ScalarType dtype) {
    at::manual_seed(1);
    hidden = at::randn({rows, width}, at::kDouble).to(dtype);
    target = at::randn({rows / 3 + 1, width}, at::kDouble).to(dtype);
    head = at::randn({vocabulary, width}, at::kDouble).to(dtype);
    d_hidden = at::full_like(hidden, NAN);
    for (int64_t r = 0; r < rows; ++r) {
      target_rows.push_back(r / 3);
      labels.push_back(r % 4 == 3 ? -1 : (r * 7919 + 3) % vocabulary);
    }
    losses.resize(rows, NAN);
    cross_entropies.resize(rows, NAN);
  }

  HeadRows view() const { return {hidden, head, target, target_rows, labels, log_sums}; }
};

void expect_near(const std::vector<double>& actual, const std::vector<double>& expected,
                 double tolerance) {
  ASSERT_EQ(actual.size(), expected.size());
  for (size_t r = 0; r < actual.size(); ++r)
    ASSERT_NEAR(actual[r], expected[r], tolerance * std::max(1.0, std::abs(expected[r]))) << r;
}

// Rows below, at and above a tile of 512.
const std::vector<std::vector<int64_t>> kShapes = {
    {1, 4, 1}, {3, 8, 33}, {512, 5, 20}, {1100, 12, 70}, {0, 4, 9}};

TEST(FrozenHeadDivergence, EqualsThePlainVersion) {
  for (at::ScalarType dtype : {at::kFloat, at::kDouble}) {
    for (const auto& shape : kShapes) {
      for (const bool given_sums : {false, true}) {
        Rows fast(shape[0], shape[1], shape[2], dtype);
        if (given_sums) fast.log_sums.assign(fast.target.size(0), 9.5);
        Rows plain = fast;
        plain.d_hidden = at::full_like(plain.hidden, NAN);
        frozen_head_divergence(fast.view(), Made(), fast.losses, fast.cross_entropies,
                               fast.d_hidden);
        plain_frozen_head_divergence(plain.view(), Made(), plain.losses, plain.cross_entropies,
                                     plain.d_hidden);
        const double tolerance = draftlab::tolerance(fast.hidden);
        expect_close(fast.d_hidden, plain.d_hidden);
        expect_near(fast.losses, plain.losses, tolerance);
        expect_near(fast.cross_entropies, plain.cross_entropies, tolerance);
      }
    }
  }
}

TEST(FrozenHeadDivergence, ThePlainGradientIsThatOfAutograd) {
  Rows rows(7, 5, 40, at::kDouble);
  plain_frozen_head_divergence(rows.view(), Made(), rows.losses, rows.cross_entropies,
                               rows.d_hidden);
  const at::Tensor hidden = rows.hidden.clone().requires_grad_();
  const at::Tensor log_q = hidden.matmul(rows.head.t()).log_softmax(1);
  const at::Tensor log_p = rows.target.index_select(0, at::tensor(rows.target_rows))
                               .matmul(rows.head.t())
                               .log_softmax(1);
  const at::Tensor losses = Made().plain(log_p, log_q, {}, nullptr);
  losses.sum().backward();
  expect_close(rows.d_hidden, hidden.grad());
  expect_close(at::tensor(rows.losses, at::kDouble), losses.detach());
}

TEST(FrozenHeadDivergence, CrossEntropiesAreThoseOfTheCrossEntropyKernel) {
  Rows rows(50, 6, 300, at::kDouble);
  std::vector<double> expected(50);
  std::vector<int64_t> ids(50);
  frozen_head_top(rows.hidden, rows.head, rows.labels, expected, {1, ids});
  frozen_head_divergence(rows.view(), Made(), rows.losses, rows.cross_entropies, {});
  expect_near(rows.cross_entropies, expected, 1e-10);
}

TEST(FrozenHeadDivergence, RowsGiveTheSameWhateverTheirNeighbours) {
  for (at::ScalarType dtype : {at::kFloat, at::kDouble}) {
    Rows rows(9, 6, 50, dtype), reversed = rows;
    reversed.hidden = rows.hidden.flip(0);
    reversed.d_hidden = at::empty_like(rows.hidden);
    std::reverse(reversed.target_rows.begin(), reversed.target_rows.end());
    std::reverse(reversed.labels.begin(), reversed.labels.end());
    frozen_head_divergence(rows.view(), Made(), rows.losses, {}, rows.d_hidden);
    frozen_head_divergence(reversed.view(), Made(), reversed.losses, {}, reversed.d_hidden);
    std::reverse(reversed.losses.begin(), reversed.losses.end());
    expect_near(reversed.losses, rows.losses, tolerance(rows.hidden));
    expect_close(reversed.d_hidden.flip(0), rows.d_hidden);
  }
}

TEST(FrozenHeadDivergence, GivesTheSameBitsAgainAndWithThreads) {
  const int before = at::get_num_threads();
  Rows first(600, 8, 90, at::kFloat);
  for (const int threads : {1, 3}) {
    at::set_num_threads(threads);
    Rows again = first;
    again.d_hidden = at::empty_like(first.hidden);
    frozen_head_divergence(first.view(), Made(), first.losses, {}, first.d_hidden);
    frozen_head_divergence(again.view(), Made(), again.losses, {}, again.d_hidden);
    EXPECT_EQ(first.losses, again.losses);
    EXPECT_TRUE(first.d_hidden.equal(again.d_hidden));
  }
  at::set_num_threads(before);
}

TEST(FrozenHeadDivergence, LogitsFarApartNeitherOverflowNorVanish) {
  at::Tensor head = at::full({1400, 1}, -300.f);
  head[600] = 300;
  head[601] = 299;
  Rows rows(1, 1, 1400, at::kFloat);
  rows.hidden = at::ones({1, 1});
  rows.target = at::ones({1, 1});
  rows.head = head;
  rows.labels = {601};
  frozen_head_divergence(rows.view(), Made(), rows.losses, rows.cross_entropies, rows.d_hidden);
  EXPECT_NEAR(rows.losses[0], 0, 1e-6) << "p is q";
  EXPECT_NEAR(rows.cross_entropies[0], 1 + std::log1p(std::exp(-1.0)), 1e-4);
  EXPECT_TRUE(rows.d_hidden.isfinite().all().item<bool>());
}

TEST(FrozenHeadDivergence, ANotANumberStaysVisible) {
  Rows rows(6, 4, 60, at::kFloat);
  rows.hidden[1][2] = NAN;
  rows.target[1][0] = NAN;  // rows 3 to 5
  frozen_head_divergence(rows.view(), Made(), rows.losses, rows.cross_entropies, rows.d_hidden);
  for (const int r : {0, 2}) EXPECT_FALSE(std::isnan(rows.losses[r])) << r;
  for (const int r : {1, 3, 4, 5}) EXPECT_TRUE(std::isnan(rows.losses[r])) << r;
  EXPECT_TRUE(rows.d_hidden[1].isnan().all().item<bool>());
}

TEST(FrozenHeadDivergence, RefusesALabelOrTargetThatIsNoRow) {
  Rows rows(3, 4, 10, at::kFloat);
  const auto run = [&] { frozen_head_divergence(rows.view(), Made(), rows.losses, {}, {}); };
  rows.labels[1] = 10;
  EXPECT_THROW(run(), c10::Error);
  rows.labels[1] = -1;
  rows.target_rows[2] = 2;
  EXPECT_THROW(run(), c10::Error);
  rows.target_rows[2] = 1;
  run();
}

TEST(FrozenHeadLogSums, EqualThePlainOnes) {
  for (at::ScalarType dtype : {at::kFloat, at::kDouble}) {
    for (const auto& shape : {std::pair<int64_t, int64_t>{1, 1}, {7, 255}, {1100, 600}}) {
      const Rows rows(shape.first, 6, shape.second, dtype);
      expect_near(frozen_head_log_sums(rows.hidden * 3, rows.head),
                  plain_frozen_head_log_sums(rows.hidden * 3, rows.head), tolerance(rows.hidden));
    }
  }
}

}  // namespace
}  // namespace draftlab

// The operations of a Gated DeltaNet layer on the numbers of a straight transcription of its
// formulas into Python, in float64, printed to ten decimals.
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "kernels/causal_convolution.h"
#include "kernels/delta_gates.h"
#include "kernels/gated_delta_rule.h"
#include "kernels/gated_rms_norm.h"
#include "kernels/l2_norm.h"

namespace draftlab {
namespace {

// base + scale * (s / 2^31 - 0.5) with s from a linear congruential generator started at 1000 t +
// 7.
at::Tensor lcg(int64_t t, at::IntArrayRef shape, double scale, double base = 0) {
  const at::Tensor numbers = at::empty(shape, at::kDouble);
  uint64_t s = 1000 * static_cast<uint64_t>(t) + 7;
  for (int64_t i = 0; i < numbers.numel(); ++i) {
    s = (s * 1103515245 + 12345) % (uint64_t{1} << 31);
    numbers.data_ptr<double>()[i] =
        base + scale * (static_cast<double>(s) / static_cast<double>(uint64_t{1} << 31) - 0.5);
  }
  return numbers;
}

// The printed digits are rounded: half a unit of the last one belongs to the tolerance of 1e-10.
void expect_printed(const at::Tensor& actual, const std::vector<double>& expected) {
  const at::Tensor numbers = at::tensor(expected, at::kDouble);
  ASSERT_EQ(actual.numel(), numbers.numel());
  EXPECT_LE((actual.flatten() - numbers).abs().max().item<double>(), 1e-10) << actual;
}

const DeltaHeads kHeads = {1, 2, 4, 3};

struct GoldenDeltaNet : testing::Test {
  at::Tensor q = at::empty({6, 4}, at::kDouble), k = at::empty_like(q);
  at::Tensor v = lcg(203, {6, 6}, 2), g = at::empty({6, 2}, at::kDouble), beta = at::empty_like(g);

  GoldenDeltaNet() {
    const at::Tensor norms = at::empty({6, 1}, at::kDouble);
    l2_norm(lcg(201, {6, 4}, 2), 0.5, 1e-6, q, norms);  // 4^-0.5
    l2_norm(lcg(202, {6, 4}, 2), 1, 1e-6, k, norms);
    delta_gates(lcg(204, {6, 2}, 2), lcg(205, {6, 2}, 2), at::tensor({0.5, -0.3}, at::kDouble),
                at::tensor({1.0, 0.2}, at::kDouble), g, beta);
  }
};

TEST_F(GoldenDeltaNet, Gates) {
  expect_printed(g[0], {-3.2774778226, -0.3237003456});
  expect_printed(beta[0], {.6385849706, .5921812667});
}

TEST_F(GoldenDeltaNet, OutputsAndTheirGatedNorm) {
  // One sequence without context, whose rows are all slots of one block.
  const std::vector<int64_t> begin = {0, 0}, sequence = {0}, anchor = {0};
  const BlockLayout layout = {begin, sequence, anchor, 6};
  const at::Tensor o = at::empty({6, 6}, at::kDouble), y = at::empty_like(o);
  DeltaRuleMemory memory;
  gated_delta_rule(q, k, v, g, beta, layout, kHeads, o, memory);
  expect_printed(o[0],
                 {.0287554126, -.0007761507, .0141280441, .0262832990, .0024369337, -.0275723050});
  // The reference prints .0000293830 for the first number; the recurrence in plain Python gives
  // .00002938286, and so do the reference's own sum and normed outputs.
  expect_printed(
      o[5], {.0000293829, .0044493217, -.0037469296, -.0453649453, -.0141521744, -.0474776345});
  expect_printed(o.sum(), {.0551751229});
  gated_rms_norm(o, lcg(206, {6, 6}, 2), lcg(207, {3}, .2, 1), 1e-6, y,
                 at::empty({6, 2}, at::kDouble));
  expect_printed(y[5],
                 {.0036400712, -.2852085472, .0821642098, .2422701405, -.0091792030, -.3695330686});
  expect_printed(y.sum(), {1.1852413510});
}

TEST_F(GoldenDeltaNet, StateBehindTheLastRow) {
  // The rows are context. Four blocks of one slot each, that changes nothing, read the state's
  // rows.
  const std::vector<int64_t> begin = {0, 6}, sequence = {0, 0, 0, 0}, anchor = {6, 6, 6, 6};
  const BlockLayout layout = {begin, sequence, anchor, 1};
  const auto then_zeros = [](const at::Tensor& x) {
    return at::cat({x, at::zeros({4, x.size(1)}, at::kDouble)});
  };
  const at::Tensor state = at::empty({4, 6}, at::kDouble);
  DeltaRuleMemory memory;
  gated_delta_rule(at::eye(4, at::kDouble), then_zeros(k), then_zeros(v), then_zeros(g),
                   then_zeros(beta), layout, kHeads, state, memory);
  expect_printed(state.slice(1, 0, 3).contiguous(),
                 {-.0154685877, -.0460541968, .0038378203, -.0088257350, -.0054443824, -.0034043629,
                  .0602697539, .1639008166, .0225197696, -.0665657399, -.1753910849, -.0129398036});
}

TEST(GoldenConvolution, OverOneSequence) {
  const std::vector<int64_t> begin = {0, 5}, none;
  const at::Tensor y = at::empty({5, 2}, at::kDouble);
  causal_convolution(lcg(208, {5, 2}, 2), lcg(209, {2, 4}, 1), {begin, none, none, 1}, y);
  expect_printed(y, {-.0002255326, .0108093477, .0243761444, -.0600006412, .0676448464,
                     -.2038562585, -.0035577372, .0928151582, -.0927506044, .3286811710});
}

}  // namespace
}  // namespace draftlab

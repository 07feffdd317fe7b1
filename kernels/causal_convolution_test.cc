#include "kernels/causal_convolution.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "testing/closeness.h"

namespace draftlab {
namespace {

// Sequences of 7, 0, 1 and 20 rows, anchors nearer to the start than the taps reach, and padding.
struct Case {
  std::vector<int64_t> sequence_begin = {0, 7, 7, 8, 28}, block_sequence = {0, 0, 1, 2, 2, 3, 3, 3},
                       block_anchor = {1, 7, 0, 0, 1, 2, -1, 20};
  int64_t block_size = 5;
  BlockLayout layout() const { return {sequence_begin, block_sequence, block_anchor, block_size}; }
};

struct Tensors {
  at::Tensor x, weight, dy, y, dx, d_weight;

  Tensors(const Case& c, int64_t channels, int64_t width, at::ScalarType dtype) {
    at::manual_seed(1);
    const int64_t rows = c.layout().context_rows() + c.layout().query_rows();
    x = at::randn({rows, channels}, at::kDouble).to(dtype);
    weight = at::randn({channels, width}, at::kDouble).to(dtype);
    dy = at::randn({rows, channels}, at::kDouble).to(dtype);
    for (at::Tensor* t : {&y, &dx}) *t = at::full_like(x, NAN);
    d_weight = at::full_like(weight, NAN);
  }
  void run(const Case& c) {
    causal_convolution(x, weight, c.layout(), y);
    causal_convolution_backward(dy, x, weight, c.layout(), dx, d_weight);
  }
  void run_plain(const Case& c) {
    plain_causal_convolution(x, weight, c.layout(), y);
    plain_causal_convolution_backward(dy, x, weight, c.layout(), dx, d_weight);
  }
};

// The rows of a sequence behind each other: conv1d of ATen with zeros before the first.
at::Tensor conv1d_silu(const at::Tensor& rows, const at::Tensor& weight) {
  const int64_t channels = weight.size(0), width = weight.size(1);
  const at::Tensor padded = at::constant_pad_nd(rows.t().unsqueeze(0), {width - 1, 0});
  return at::silu(at::conv1d(padded, weight.unsqueeze(1), {}, 1, at::IntArrayRef{0}, 1, channels))
      .squeeze(0)
      .t();
}

TEST(CausalConvolution, ThePlainVersionEqualsConv1dOverEachSequenceUnderAutograd) {
  const Case c;
  for (int64_t width : {1, 4}) {
    Tensors t(c, 3, width, at::kDouble);
    t.run_plain(c);
    t.x.requires_grad_();
    t.weight.requires_grad_();
    at::Tensor y = at::zeros_like(t.y);
    for (int64_t s = 0; s < 4; ++s) {
      const int64_t begin = c.sequence_begin[s], end = c.sequence_begin[s + 1];
      if (begin < end)
        y.slice(0, begin, end).copy_(conv1d_silu(t.x.slice(0, begin, end), t.weight));
    }
    for (size_t n = 0; n < c.block_anchor.size(); ++n) {
      if (c.block_anchor[n] < 0) continue;
      const int64_t begin = c.sequence_begin[c.block_sequence[n]];
      const int64_t first = c.layout().context_rows() + static_cast<int64_t>(n) * c.block_size;
      const at::Tensor rows = at::cat({t.x.slice(0, begin, begin + c.block_anchor[n]),
                                       t.x.slice(0, first, first + c.block_size)});
      y.slice(0, first, first + c.block_size)
          .copy_(conv1d_silu(rows, t.weight).slice(0, c.block_anchor[n]));
    }
    (y * t.dy).sum().backward();
    expect_close(t.y, y.detach());
    expect_close(t.dx, t.x.grad());
    expect_close(t.d_weight, t.weight.grad());
  }
}

TEST(CausalConvolution, EqualsThePlainVersion) {
  const Case c;
  for (at::ScalarType dtype : {at::kFloat, at::kDouble}) {
    for (int64_t channels : {1, 10, 64, 150}) {
      for (int64_t width : {1, 2, 4, 7}) {
        Tensors fast(c, channels, width, dtype), plain(c, channels, width, dtype);
        fast.run(c);
        plain.run_plain(c);
        expect_close(fast.y, plain.y);
        expect_close(fast.dx, plain.dx);
        expect_close(fast.d_weight, plain.d_weight);
      }
    }
  }
}

TEST(CausalConvolution, WorksOnSomeColumnsOfWiderMatrices) {
  const Case c;
  Tensors t(c, 12, 4, at::kFloat);
  t.run(c);
  const int64_t rows = t.x.size(0);
  const auto inside = [&](const at::Tensor& x) {
    const at::Tensor wide = at::zeros({rows, 20});
    wide.slice(1, 5, 17).copy_(x);
    return wide.slice(1, 5, 17);
  };
  const at::Tensor x = inside(t.x), dy = inside(t.dy), y = inside(t.y * 0), dx = inside(t.y * 0);
  const at::Tensor d_weight = at::empty_like(t.weight);
  causal_convolution(x, t.weight, c.layout(), y);
  causal_convolution_backward(dy, x, t.weight, c.layout(), dx, d_weight);
  EXPECT_TRUE(y.equal(t.y));
  EXPECT_TRUE(dx.equal(t.dx));
  EXPECT_TRUE(d_weight.equal(t.d_weight));
}

TEST(CausalConvolution, RowsThatABlockMustNotSeeChangeNoBit) {
  const Case c;
  Tensors before(c, 10, 4, at::kFloat), after(c, 10, 4, at::kFloat);
  // Block 5 has the anchor 2 of the last sequence: rows 53..57 of all.
  after.x.slice(0, 0, 8).add_(1000);
  after.x.slice(0, 8 + 2, 53).add_(1000);
  after.x.slice(0, 58).add_(1000);
  before.run(c);
  after.run(c);
  EXPECT_TRUE(before.y.slice(0, 53, 58).equal(after.y.slice(0, 53, 58)));
  EXPECT_TRUE(before.dx.slice(0, 53, 58).equal(after.dx.slice(0, 53, 58)));
  EXPECT_FALSE(before.y.equal(after.y)) << "the others do see some of it";
}

TEST(CausalConvolution, ThreadsDoNotChangeABit) {
  const Case c;
  const int before = at::get_num_threads();
  Tensors one(c, 300, 4, at::kFloat), two(c, 300, 4, at::kFloat);
  at::set_num_threads(1);
  one.run(c);
  at::set_num_threads(2);
  two.run(c);
  at::set_num_threads(before);
  EXPECT_TRUE(one.y.equal(two.y));
  EXPECT_TRUE(one.dx.equal(two.dx));
  EXPECT_TRUE(one.d_weight.equal(two.d_weight));
}

TEST(CausalConvolution, RefusesAnAnchorBehindTheEndOfItsSequence) {
  Case c;
  c.block_anchor[1] = 8;
  Tensors t(c, 3, 4, at::kDouble);
  EXPECT_THROW(t.run(c), c10::Error);
}

}  // namespace
}  // namespace draftlab

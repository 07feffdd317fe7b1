#include "kernels/block_attention.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "testing/closeness.h"

namespace draftlab {
namespace {

struct Case {
  std::vector<int64_t> sequence_begin, block_sequence, block_anchor;
  int64_t block_size;
  AttentionHeads heads;
  int64_t window;

  BlockLayout layout() const { return {sequence_begin, block_sequence, block_anchor, block_size}; }
};

// Two sequences of different lengths, one without blocks between them, and anchors at both ends.
Case three_sequences(int64_t window) {
  return {{0, 7, 12, 40},
          {0, 0, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2},
          {1, 7, 0, 3, 4, 5, 9, 10, 11, 14, 15, 20, 21, 22, 27, 28},
          5,
          {6, 2, 8},
          window};
}

struct Tensors {
  at::Tensor q, k, v, d_out, out, log_sum, largest, dq, dk, dv, scratch;

  Tensors(const Case& c, at::ScalarType dtype) {
    at::manual_seed(1);
    const int64_t queries = c.layout().query_rows(), keys = c.layout().context_rows() + queries;
    const auto random = [&](int64_t rows, int64_t n) {
      return at::randn({rows, n}, at::kDouble).to(dtype);
    };
    q = random(queries, c.heads.query * c.heads.dim);
    d_out = at::randn_like(q);
    k = random(keys, c.heads.key_value * c.heads.dim);
    v = at::randn_like(k);
    out = at::full_like(q, NAN);
    dq = at::full_like(q, NAN);
    dk = at::full_like(k, NAN);
    dv = at::full_like(k, NAN);
    log_sum = at::full({c.heads.query, queries}, NAN, q.options());
    largest = at::full_like(log_sum, NAN);
  }
  void run(const Case& c) {
    block_attention(q, k, v, c.layout(), c.heads, c.window, out, log_sum, &largest);
    block_attention_backward(d_out, q, k, v, out, log_sum, c.layout(), c.heads, c.window, dq, dk,
                             dv, scratch);
  }
  void run_plain(const Case& c) {
    plain_block_attention(q, k, v, c.layout(), c.heads, c.window, out, log_sum, &largest);
    plain_block_attention_backward(d_out, q, k, v, out, log_sum, c.layout(), c.heads, c.window, dq,
                                   dk, dv);
  }
};

// The dense mask of every query against every key, straight from the definition.
at::Tensor dense_mask(const Case& c) {
  const BlockLayout layout = c.layout();
  const int64_t queries = layout.query_rows(), context = layout.context_rows();
  at::Tensor mask = at::zeros({queries, context + queries}, at::kBool);
  for (int64_t row = 0; row < queries; ++row) {
    const int64_t n = row / c.block_size, o = row % c.block_size, a = c.block_anchor[n];
    const int64_t begin = c.sequence_begin[c.block_sequence[n]];
    if (a < 0) continue;
    for (int64_t j = 0; j < a; ++j)
      if (c.window == 0 || j >= a + o - (c.window - 1)) mask[row][begin + j] = true;
    for (int64_t p = 0; p < c.block_size; ++p)
      if (c.window == 0 || p <= o) mask[row][context + n * c.block_size + p] = true;
  }
  return mask;
}

TEST(BlockAttention, ThePlainVersionEqualsADenseMaskUnderAutograd) {
  for (int64_t window : {0, 1, 3, 6, 100}) {
    const Case c = three_sequences(window);
    Tensors t(c, at::kDouble);
    t.run_plain(c);
    for (at::Tensor* x : {&t.q, &t.k, &t.v}) x->requires_grad_();
    const auto by_head = [&](const at::Tensor& x, int64_t heads) {
      return x.view({x.size(0), heads, c.heads.dim})
          .transpose(0, 1)
          .repeat_interleave(c.heads.query / heads, 0);
    };
    const at::Tensor k = by_head(t.k, c.heads.key_value), v = by_head(t.v, c.heads.key_value);
    const at::Tensor scores = by_head(t.q, c.heads.query).matmul(k.transpose(1, 2)) /
                              std::sqrt(static_cast<double>(c.heads.dim));
    const at::Tensor seen = scores.masked_fill(dense_mask(c).logical_not(), -INFINITY);
    const at::Tensor p = seen.softmax(2);
    const at::Tensor out = p.matmul(v).transpose(0, 1).reshape({t.q.size(0), -1});
    (out * t.d_out).sum().backward();
    expect_close(t.out, out.detach());
    expect_close(t.largest, seen.amax(2).detach());
    expect_close(t.dq, t.q.grad());
    expect_close(t.dk, t.k.grad());
    expect_close(t.dv, t.v.grad());
  }
}

TEST(BlockAttention, EqualsThePlainVersion) {
  for (at::ScalarType dtype : {at::kFloat, at::kDouble}) {
    for (int64_t window : {0, 1, 3, 6, 100}) {
      for (int64_t block_size :
           {1, 5, 16, 80}) {  // several blocks a tile, and one block above a tile
        Case c = three_sequences(window);
        c.block_size = block_size;
        Tensors fast(c, dtype), plain(c, dtype);
        fast.run(c);
        plain.run_plain(c);
        expect_close(fast.out, plain.out);
        expect_close(fast.log_sum, plain.log_sum);
        expect_close(fast.largest, plain.largest);
        expect_close(fast.dq, plain.dq);
        expect_close(fast.dk, plain.dk);
        expect_close(fast.dv, plain.dv);
      }
    }
  }
}

TEST(BlockAttention, APaddingBlockSeesNothingAndGivesZero) {
  Case c = three_sequences(0);
  c.block_anchor[1] = -1;
  c.block_anchor[2] = -1;
  for (int64_t window : {0, 4}) {
    c.window = window;
    Tensors fast(c, at::kDouble), plain(c, at::kDouble);
    fast.run(c);
    plain.run_plain(c);
    EXPECT_EQ(fast.out.slice(0, 5, 15).abs().sum().item<double>(), 0);
    EXPECT_EQ(fast.dq.slice(0, 5, 15).abs().sum().item<double>(), 0);
    EXPECT_EQ(fast.dk.slice(0, 45, 55).abs().sum().item<double>(), 0);
    expect_close(fast.out, plain.out);
    expect_close(fast.dk, plain.dk);
    expect_close(fast.dv, plain.dv);
  }
}

TEST(BlockAttention, HiddenContextRowsChangeNoBit) {
  for (int64_t window : {0, 4}) {
    const Case c = three_sequences(window);
    Tensors before(c, at::kFloat), after(c, at::kFloat);
    // Everything that block 5 of the third sequence (anchor 9, query rows 30..34) must not see.
    for (at::Tensor* x : {&after.k, &after.v}) {
      x->slice(0, 0, 12).add_(1000);
      x->slice(0, 12 + 9, 40 + 30).add_(1000);
      x->slice(0, 40 + 35).add_(1000);
    }
    before.run(c);
    after.run(c);
    EXPECT_TRUE(before.out.slice(0, 30, 35).equal(after.out.slice(0, 30, 35)));
    EXPECT_TRUE(before.dq.slice(0, 30, 35).equal(after.dq.slice(0, 30, 35)));
    EXPECT_FALSE(before.out.equal(after.out)) << "the others do see some of it";
  }
}

TEST(BlockAttention, ThreadsDoNotChangeABit) {
  const Case c = three_sequences(6);
  const int before = at::get_num_threads();
  Tensors one(c, at::kFloat), two(c, at::kFloat);
  at::set_num_threads(1);
  one.run(c);
  at::set_num_threads(2);
  two.run(c);
  at::set_num_threads(before);
  EXPECT_TRUE(one.out.equal(two.out));
  EXPECT_TRUE(one.dq.equal(two.dq));
  EXPECT_TRUE(one.dk.equal(two.dk));
  EXPECT_TRUE(one.dv.equal(two.dv));
}

TEST(BlockAttention, RefusesAnAnchorBehindTheEndOfItsSequence) {
  Case c = three_sequences(0);
  c.block_anchor[1] = 8;
  Tensors t(c, at::kDouble);
  EXPECT_THROW(t.run(c), c10::Error);
}

}  // namespace
}  // namespace draftlab

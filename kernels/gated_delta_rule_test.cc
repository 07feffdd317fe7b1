#include "kernels/gated_delta_rule.h"

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
  DeltaHeads heads;
  bool initial = false;

  BlockLayout layout() const { return {sequence_begin, block_sequence, block_anchor, block_size}; }
};

// Sequences of 7, 0, 1, 5 (without blocks), 64 and 150 rows: anchors at both ends, twice at one
// position, and before, at and behind the borders of chunks of 16, 32 and 64 rows.
Case six_sequences() {
  return {{0, 7, 7, 8, 13, 77, 227},
          {0, 0, 0, 1, 2, 2, 4, 4, 4, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5},
          {1, 7, 7, 0, 0, 1, 0, 33, 64, 15, 16, 31, 32, 63, 64, 65, 100, 127, 128, 150},
          5,
          {2, 4, 8, 8}};
}

struct Tensors {
  at::Tensor q, k, v, g, beta, initial, d_out, out, dq, dk, dv, dg, dbeta;
  DeltaRuleMemory memory;

  Tensors(const Case& c, at::ScalarType dtype) {
    at::manual_seed(1);
    const int64_t queries = c.layout().query_rows(), rows = c.layout().context_rows() + queries;
    const auto random = [&](at::IntArrayRef shape) { return at::randn(shape, at::kDouble); };
    const auto unit = [&](int64_t n) {
      const at::Tensor x = random({n, c.heads.key, c.heads.key_dim});
      return (x / x.norm(2, 2, /*keepdim=*/true)).flatten(1).to(dtype);
    };
    q = unit(queries);
    k = unit(rows);
    v = random({rows, c.heads.value * c.heads.value_dim}).to(dtype);
    // From decays that forget a row at once to those that forget nothing.
    g = -random({rows, c.heads.value}).mul(3).exp().clamp_max(200).mul(0.1).to(dtype);
    beta = random({rows, c.heads.value}).sigmoid().to(dtype);
    d_out = random({queries, c.heads.value * c.heads.value_dim}).to(dtype);
    if (c.initial) {
      initial = random({static_cast<int64_t>(c.sequence_begin.size()) - 1, c.heads.value,
                        c.heads.key_dim, c.heads.value_dim})
                    .to(dtype);
    }
    const auto to_fill = [](const at::Tensor& x) { return at::full_like(x, NAN); };
    out = to_fill(d_out);
    dq = to_fill(q);
    dk = to_fill(k);
    dv = to_fill(v);
    dg = to_fill(g);
    dbeta = to_fill(beta);
  }
  const at::Tensor* start() const { return initial.defined() ? &initial : nullptr; }
  void run(const Case& c) {
    gated_delta_rule(q, k, v, g, beta, c.layout(), c.heads, out, memory, start());
    gated_delta_rule_backward(d_out, q, k, v, g, beta, out, memory, c.layout(), c.heads, dq, dk, dv,
                              dg, dbeta, start());
  }
  void run_plain(const Case& c) {
    plain_gated_delta_rule(q, k, v, g, beta, c.layout(), c.heads, out, start());
    plain_gated_delta_rule_backward(d_out, q, k, v, g, beta, c.layout(), c.heads, dq, dk, dv, dg,
                                    dbeta, start());
  }
};

void expect_all_close(const Tensors& actual, const Tensors& expected) {
  expect_close(actual.out, expected.out);
  expect_close(actual.dq, expected.dq);
  expect_close(actual.dk, expected.dk);
  expect_close(actual.dv, expected.dv);
  expect_close(actual.dg, expected.dg);
  expect_close(actual.dbeta, expected.dbeta);
}

TEST(GatedDeltaRule, ThePlainGradientIsThatOfAutograd) {
  Case c = six_sequences();
  c.heads = {1, 2, 3, 2};
  for (bool initial : {false, true}) {
    c.initial = initial;
    Tensors t(c, at::kDouble);
    t.run_plain(c);
    for (at::Tensor* x : {&t.q, &t.k, &t.v, &t.g, &t.beta}) x->requires_grad_();
    const at::Tensor out = at::empty_like(t.out);
    plain_gated_delta_rule(t.q, t.k, t.v, t.g, t.beta, c.layout(), c.heads, out, t.start());
    (out * t.d_out).sum().backward();
    expect_close(t.dq, t.q.grad());
    expect_close(t.dk, t.k.grad());
    expect_close(t.dv, t.v.grad());
    expect_close(t.dg, t.g.grad());
    expect_close(t.dbeta, t.beta.grad());
  }
}

TEST(GatedDeltaRule, EqualsThePlainVersion) {
  for (at::ScalarType dtype : {at::kFloat, at::kDouble}) {
    for (bool initial : {false, true}) {
      for (int64_t block_size : {1, 5, 16}) {
        for (DeltaHeads heads : {DeltaHeads{2, 4, 8, 8}, DeltaHeads{1, 3, 5, 40},
                                 DeltaHeads{2, 2, 64, 64}, DeltaHeads{1, 1, 24, 1}}) {
          Case c = six_sequences();
          c.block_size = block_size;
          c.heads = heads;
          c.initial = initial;
          Tensors fast(c, dtype), plain(c, dtype);
          fast.run(c);
          plain.run_plain(c);
          expect_all_close(fast, plain);
        }
      }
    }
  }
}

// The definition again, with loops over numbers instead of tensors.
TEST(GatedDeltaRule, ThePlainVersionIsTheRecurrence) {
  const Case c = {{0, 4}, {0, 0}, {0, 3}, 2, {1, 1, 2, 1}};
  const Tensors t(c, at::kDouble);
  plain_gated_delta_rule(t.q, t.k, t.v, t.g, t.beta, c.layout(), c.heads, t.out);
  const std::vector<std::vector<int64_t>> paths = {{4, 5}, {0, 1, 2, 6, 7}};
  for (int64_t n = 0; n < 2; ++n) {
    double state[2] = {0, 0};
    for (int64_t row : paths[n]) {
      const double k[2] = {t.k[row][0].item<double>(), t.k[row][1].item<double>()};
      for (double& s : state) s *= std::exp(t.g[row][0].item<double>());
      const double delta = t.beta[row][0].item<double>() *
                           (t.v[row][0].item<double>() - state[0] * k[0] - state[1] * k[1]);
      for (int i = 0; i < 2; ++i) state[i] += k[i] * delta;
      if (row < 4) continue;
      const at::Tensor q = t.q[row - 4];
      EXPECT_NEAR(t.out[row - 4][0].item<double>(),
                  state[0] * q[0].item<double>() + state[1] * q[1].item<double>(), 1e-15);
    }
  }
}

TEST(GatedDeltaRule, ABlockEqualsTheRowsOfALongerContext) {
  // Rows 90..94 of the last sequence as slots of a block, and the same rows as context, each read
  // by a block of one slot behind it that changes nothing.
  const DeltaHeads heads = {2, 4, 8, 8};
  const Case as_block = {{0, 90}, {0}, {90}, 5, heads};
  const Case as_context = {{0, 95}, {0, 0, 0, 0, 0}, {91, 92, 93, 94, 95}, 1, heads};
  Tensors block(as_block, at::kDouble), context(as_context, at::kDouble);
  for (auto [from, to] : {std::pair{&block.k, &context.k},
                          {&block.v, &context.v},
                          {&block.g, &context.g},
                          {&block.beta, &context.beta}}) {
    *to = at::cat({*from, at::zeros_like(from->slice(0, 0, 5))});
  }
  context.q = block.q;
  block.run(as_block);
  context.d_out = block.d_out;
  context.run(as_context);
  expect_close(block.out, context.out);
  expect_close(block.dq, context.dq);
  expect_close(block.dk, context.dk.slice(0, 0, 95));
  expect_close(block.dv, context.dv.slice(0, 0, 95));
  expect_close(block.dg, context.dg.slice(0, 0, 95));
  expect_close(block.dbeta, context.dbeta.slice(0, 0, 95));
}

TEST(GatedDeltaRule, APaddingBlockSeesNothingAndGivesZero) {
  Case c = six_sequences();
  for (size_t n : {1, 2, 6, 7, 8, 19}) c.block_anchor[n] = -1;  // all of one sequence among them
  Tensors fast(c, at::kDouble), plain(c, at::kDouble);
  fast.run(c);
  plain.run_plain(c);
  EXPECT_EQ(fast.out.slice(0, 5, 15).abs().sum().item<double>(), 0);
  EXPECT_EQ(fast.dk.slice(0, 227 + 5, 227 + 15).abs().sum().item<double>(), 0);
  expect_all_close(fast, plain);
}

TEST(GatedDeltaRule, RowsThatABlockMustNotSeeChangeNoBit) {
  const Case c = six_sequences();
  Tensors before(c, at::kFloat), after(c, at::kFloat);
  // Block 13 has the anchor 63 of the last sequence: block rows 65..69.
  for (at::Tensor* x : {&after.k, &after.v}) {
    x->slice(0, 0, 77).add_(1000);
    x->slice(0, 77 + 63, 227 + 65).add_(1000);
    x->slice(0, 227 + 70).add_(1000);
  }
  before.run(c);
  after.run(c);
  EXPECT_TRUE(before.out.slice(0, 65, 70).equal(after.out.slice(0, 65, 70)));
  EXPECT_TRUE(before.dq.slice(0, 65, 70).equal(after.dq.slice(0, 65, 70)));
  EXPECT_FALSE(before.out.equal(after.out)) << "the others do see some of it";
}

TEST(GatedDeltaRule, ThreadsDoNotChangeABit) {
  const Case c = six_sequences();
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
  EXPECT_TRUE(one.dg.equal(two.dg));
  EXPECT_TRUE(one.dbeta.equal(two.dbeta));
}

TEST(GatedDeltaRule, WorksOnSomeColumnsOfAWiderMatrix) {
  const Case c = six_sequences();
  Tensors t(c, at::kFloat);
  t.run(c);
  Tensors wide(c, at::kFloat);
  const auto inside = [](at::Tensor& x) {
    const at::Tensor all = at::full({x.size(0), x.size(1) + 8}, NAN);
    all.slice(1, 3, 3 + x.size(1)).copy_(x);
    x = all.slice(1, 3, 3 + x.size(1));
  };
  for (at::Tensor* x :
       {&wide.q, &wide.k, &wide.v, &wide.out, &wide.d_out, &wide.dq, &wide.dk, &wide.dv})
    inside(*x);
  wide.run(c);
  EXPECT_TRUE(wide.out.equal(t.out));
  EXPECT_TRUE(wide.dq.equal(t.dq));
  EXPECT_TRUE(wide.dk.equal(t.dk));
  EXPECT_TRUE(wide.dv.equal(t.dv));
  EXPECT_TRUE(wide.dg.equal(t.dg));
}

TEST(GatedDeltaRule, RefusesAnAnchorBehindTheEndOfItsSequence) {
  Case c = six_sequences();
  c.block_anchor[1] = 8;
  Tensors t(c, at::kDouble);
  EXPECT_THROW(t.run(c), c10::Error);
}

}  // namespace
}  // namespace draftlab

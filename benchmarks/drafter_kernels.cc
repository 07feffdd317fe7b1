// The drafter's kernels against their plain ATen versions, and those of a Gated DeltaNet layer
// against those of an attention layer.
#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <benchmark/benchmark.h>

#include <ctime>
#include <vector>

#include "benchmarks/drafting_batch.h"
#include "kernels/block_attention.h"
#include "kernels/causal_convolution.h"
#include "kernels/delta_gates.h"
#include "kernels/frozen_head_loss.h"
#include "kernels/gated_delta_rule.h"
#include "kernels/gated_rms_norm.h"
#include "kernels/l2_norm.h"
#include "kernels/rms_norm.h"
#include "kernels/rotary.h"

namespace draftlab {
namespace {

constexpr int kThreads = 2;

// 896 supervised rows against the head of SmolLM2.
template <typename Loss>
void head_loss(benchmark::State& state, Loss loss) {
  at::set_num_threads(kThreads);
  at::manual_seed(1);
  const int64_t rows = 896, vocabulary = 49152;
  const at::Tensor hidden = at::randn({rows, 576}), head = at::randn({vocabulary, 576}) * 0.05;
  const at::Tensor d_hidden = at::empty_like(hidden);
  std::vector<int64_t> labels(rows), ids(8 * rows);
  for (int64_t r = 0; r < rows; ++r) labels[r] = r * 31 % vocabulary;
  std::vector<double> scales(rows, 1.0 / rows), losses(rows);
  for (auto _ : state) loss(hidden, head, labels, scales, losses, d_hidden, ids);
}

void frozen_head_loss(benchmark::State& state) {
  head_loss(state, [](const auto& hidden, const auto& head, auto& labels, auto& scales,
                      auto& losses, const auto& d_hidden, auto&) {
    draftlab::frozen_head_loss(hidden, head, labels, scales, losses, d_hidden);
  });
}
void frozen_head_loss_plain(benchmark::State& state) {
  head_loss(state, [](const auto& hidden, const auto& head, auto& labels, auto& scales,
                      auto& losses, const auto& d_hidden, auto&) {
    plain_frozen_head_loss(hidden, head, labels, scales, losses, d_hidden);
  });
}
// The argument is k.
void frozen_head_top(benchmark::State& state) {
  head_loss(state, [k = state.range(0)](const auto& hidden, const auto& head, auto& labels, auto&,
                                        auto& losses, const auto&, auto& ids) {
    const auto top = std::span(ids).first(labels.size() * k);
    draftlab::frozen_head_top(hidden, head, labels, losses, {k, top});
  });
}
void frozen_head_top_plain(benchmark::State& state) {
  head_loss(state, [k = state.range(0)](const auto& hidden, const auto& head, auto& labels, auto&,
                                        auto& losses, const auto&, auto& ids) {
    const auto top = std::span(ids).first(labels.size() * k);
    plain_frozen_head_top(hidden, head, labels, losses, {k, top});
  });
}

// Forward and backward of one layer: 4 sequences of 256 tokens with 32 blocks of 8. The argument is
// the window, 0 for full attention.
template <typename Attention>
void attention(benchmark::State& state, Attention run) {
  at::set_num_threads(kThreads);
  const DrafterConfig config = smollm2_drafter(1, 1, 8);
  const BlockBatch batch = random_batch(config, 4, 256, 32);
  const BlockLayout layout = {batch.sequence_begin, batch.block_sequence, batch.block_anchor, 8};
  const AttentionHeads heads = {9, 3, 64};
  const at::Tensor q = at::randn({layout.query_rows(), 9 * 64});
  const at::Tensor k = at::randn({layout.context_rows() + layout.query_rows(), 3 * 64});
  const at::Tensor v = at::randn_like(k), d_out = at::randn_like(q), out = at::empty_like(q);
  const at::Tensor log_sum = at::empty({9, layout.query_rows()});
  const at::Tensor dq = at::empty_like(q), dk = at::empty_like(k), dv = at::empty_like(k);
  for (auto _ : state) run(layout, heads, state.range(0), q, k, v, d_out, out, log_sum, dq, dk, dv);
}

void block_attention(benchmark::State& state) {
  at::Tensor scratch;
  attention(state, [&](const auto& layout, const auto& heads, int64_t window, const auto& q,
                       const auto& k, const auto& v, const auto& d_out, const auto& out,
                       const auto& log_sum, const auto& dq, const auto& dk, const auto& dv) {
    draftlab::block_attention(q, k, v, layout, heads, window, out, log_sum);
    block_attention_backward(d_out, q, k, v, out, log_sum, layout, heads, window, dq, dk, dv,
                             scratch);
  });
}
void block_attention_plain(benchmark::State& state) {
  attention(state, [](const auto& layout, const auto& heads, int64_t window, const auto& q,
                      const auto& k, const auto& v, const auto& d_out, const auto& out,
                      const auto& log_sum, const auto& dq, const auto& dk, const auto& dv) {
    plain_block_attention(q, k, v, layout, heads, window, out, log_sum);
    plain_block_attention_backward(d_out, q, k, v, out, log_sum, layout, heads, window, dq, dk, dv);
  });
}

constexpr int64_t kHeadDim = 64, kSlots = 8;

// What an attention layer does between its projections.
struct AttentionLayer {
  const BlockLayout layout;
  const AttentionHeads heads;
  const at::Tensor q_raw = at::randn({layout.query_rows(), heads.query* kHeadDim});
  const at::Tensor k_raw =
      at::randn({layout.context_rows() + layout.query_rows(), heads.key_value* kHeadDim});
  const at::Tensor v = at::randn_like(k_raw), d_out = at::randn_like(q_raw);
  const at::Tensor weight = at::ones({kHeadDim}), d_weight = at::empty({kHeadDim});
  const at::Tensor q = at::empty_like(q_raw), k = at::empty_like(v), out = at::empty_like(q);
  const at::Tensor q_scale = at::empty({q.numel() / kHeadDim});
  const at::Tensor k_scale = at::empty({k.numel() / kHeadDim});
  const at::Tensor log_sum = at::empty({heads.query, layout.query_rows()});
  const at::Tensor dq = at::empty_like(q), dk = at::empty_like(k), dv = at::empty_like(k);
  const std::vector<int64_t> positions = std::vector<int64_t>(k.size(0), 100);
  const std::vector<int64_t> slot_positions = std::vector<int64_t>(q.size(0), 100);
  const RotaryTable table = rotary_table(101, kHeadDim, 1e4, q.options());
  at::Tensor scratch;

  static at::Tensor by_head(const at::Tensor& x) { return x.view({-1, kHeadDim}); }
  static at::Tensor heads_of(const at::Tensor& x) { return x.view({x.size(0), -1, kHeadDim}); }
  void attend() { draftlab::block_attention(q, k, v, layout, heads, 0, out, log_sum); }
  void attend_back() {
    block_attention_backward(d_out, q, k, v, out, log_sum, layout, heads, 0, dq, dk, dv, scratch);
  }
  void before() {
    rms_norm(by_head(q_raw), weight, 1e-6, by_head(q), q_scale);
    rms_norm(by_head(k_raw), weight, 1e-6, by_head(k), k_scale);
    rotary(heads_of(q), slot_positions, table, /*inverse=*/false);
    rotary(heads_of(k), positions, table, /*inverse=*/false);
  }
  void after() {
    rotary(heads_of(dq), slot_positions, table, /*inverse=*/true);
    rotary(heads_of(dk), positions, table, /*inverse=*/true);
    rms_norm_backward(by_head(dq), by_head(q_raw), weight, q_scale, by_head(dq), false, d_weight);
    rms_norm_backward(by_head(dk), by_head(k_raw), weight, k_scale, by_head(dk), false, d_weight);
  }
};

// The same of a Gated DeltaNet layer.
struct DeltaLayer {
  const BlockLayout layout;
  const DeltaHeads heads;
  const int64_t keys = heads.key * kHeadDim, values = heads.value * kHeadDim;
  const int64_t context = layout.context_rows();
  const at::Tensor x = at::randn({context + layout.query_rows(), 2 * keys + values});
  const at::Tensor taps = at::randn({x.size(1), 4}), d_taps = at::empty_like(taps);
  const at::Tensor y = at::empty_like(x), dx = at::empty_like(x), dy = at::zeros_like(x);
  const at::Tensor a = at::randn({x.size(0), heads.value}), b = at::randn_like(a);
  const at::Tensor g = at::empty_like(a), beta = at::empty_like(a), dg = at::empty_like(a);
  const at::Tensor dbeta = at::empty_like(a), A_log = at::zeros({heads.value});
  const at::Tensor dt_bias = at::full({heads.value}, -3.0), d_A_log = at::empty_like(A_log);
  const at::Tensor d_dt_bias = at::empty_like(A_log), weight = at::ones({kHeadDim});
  const at::Tensor d_weight = at::empty_like(weight), z = at::randn({layout.query_rows(), values});
  const at::Tensor out = at::empty_like(z), d_out = at::empty_like(z), dz = at::empty_like(z);
  const at::Tensor normed = at::empty_like(z), d_normed = at::randn_like(z);
  const at::Tensor scale = at::empty({z.size(0), heads.value});
  const at::Tensor q_norm = at::empty({z.size(0), heads.key});
  const at::Tensor k_norm = at::empty({x.size(0), heads.key});
  const at::Tensor q = y.slice(0, context).slice(1, 0, keys), k = y.slice(1, keys, 2 * keys);
  const at::Tensor dq = dy.slice(0, context).slice(1, 0, keys), dk = dy.slice(1, keys, 2 * keys);
  const at::Tensor v = y.slice(1, 2 * keys), dv = dy.slice(1, 2 * keys);
  DeltaRuleMemory memory;

  void attend() { gated_delta_rule(q, k, v, g, beta, layout, heads, out, memory); }
  void attend_back() {
    gated_delta_rule_backward(d_out, q, k, v, g, beta, out, memory, layout, heads, dq, dk, dv, dg,
                              dbeta);
  }
  void before() {
    causal_convolution(x, taps, layout, y);
    l2_norm(q, 0.125, 1e-6, q, q_norm);
    l2_norm(k, 1, 1e-6, k, k_norm);
    delta_gates(a, b, A_log, dt_bias, g, beta);
  }
  void after() {
    l2_norm_backward(dq, q, 0.125, q_norm, dq);
    l2_norm_backward(dk, k, 1, k_norm, dk);
    delta_gates_backward(dg, dbeta, a, A_log, dt_bias, g, beta, dg, dbeta, d_A_log, d_dt_bias);
    causal_convolution_backward(dy, x, taps, layout, dx, d_taps);
  }
  void norm() {
    gated_rms_norm(out, z, weight, 1e-6, normed, scale);
    gated_rms_norm_backward(d_normed, out, z, weight, scale, d_out, dz, d_weight);
  }
};

// CPU seconds of this thread: other work on the machine does not show.
double seconds() {
  timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

// Forward and backward of both layers in turn, on one thread: 8 sequences with 48 blocks of 8. The
// time is that of the Gated DeltaNet layer. Arguments: tokens, query and key-value heads of the
// attention layer, key and value heads of the other.
void gated_delta_net(benchmark::State& state) {
  at::set_num_threads(1);
  const BlockBatch batch =
      random_batch(smollm2_drafter(1, 1, kSlots), 8, state.range(0), /*anchors=*/48);
  const BlockLayout layout = {batch.sequence_begin, batch.block_sequence, batch.block_anchor,
                              kSlots};
  AttentionLayer attention = {layout, {state.range(1), state.range(2), kHeadDim}};
  DeltaLayer delta = {layout, {state.range(3), state.range(4), kHeadDim, kHeadDim}};
  double attention_core = 0, attention_all = 0, delta_core = 0, delta_all = 0;
  const auto time = [](double& sum, const auto& work) {
    const double begin = seconds();
    work();
    sum += seconds() - begin;
  };
  const auto run = [&] {
    time(attention_all, [&] {
      attention.before();
      time(attention_core, [&] {
        attention.attend();
        attention.attend_back();
      });
      attention.after();
    });
    time(delta_all, [&] {
      delta.before();
      time(delta_core, [&] { delta.attend(); });
      delta.norm();
      time(delta_core, [&] { delta.attend_back(); });
      delta.after();
    });
  };
  run();  // memory is touched for the first time
  attention_core = attention_all = delta_core = delta_all = 0;
  for (auto _ : state) {
    const double before = delta_all;
    run();
    state.SetIterationTime(delta_all - before);
  }
  state.counters["rule / attention"] = delta_core / attention_core;
  state.counters["layer / layer"] = delta_all / attention_all;
}

BENCHMARK(frozen_head_loss)->Unit(benchmark::kMillisecond)->UseRealTime();
BENCHMARK(frozen_head_loss_plain)->Unit(benchmark::kMillisecond)->UseRealTime();
BENCHMARK(frozen_head_top)->Arg(1)->Arg(8)->Unit(benchmark::kMillisecond)->UseRealTime();
BENCHMARK(frozen_head_top_plain)->Arg(1)->Arg(8)->Unit(benchmark::kMillisecond)->UseRealTime();
BENCHMARK(block_attention)->Arg(0)->Arg(16)->Unit(benchmark::kMillisecond)->UseRealTime();
BENCHMARK(block_attention_plain)->Arg(0)->Arg(16)->Unit(benchmark::kMillisecond)->UseRealTime();
BENCHMARK(gated_delta_net)
    ->ArgsProduct({{512, 2048}, {9}, {3}, {3, 9}, {9}})
    ->ArgsProduct({{512, 2048}, {8}, {4}, {4}, {8}})
    ->Unit(benchmark::kMillisecond)
    ->UseManualTime();

}  // namespace
}  // namespace draftlab

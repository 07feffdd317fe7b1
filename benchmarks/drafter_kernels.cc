// The drafter's kernels against their plain ATen versions.
#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <benchmark/benchmark.h>

#include <vector>

#include "benchmarks/drafting_batch.h"
#include "kernels/block_attention.h"
#include "kernels/frozen_head_loss.h"

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
  std::vector<int64_t> labels(rows), argmax(rows);
  for (int64_t r = 0; r < rows; ++r) labels[r] = r * 31 % vocabulary;
  std::vector<double> scales(rows, 1.0 / rows), losses(rows);
  for (auto _ : state) loss(hidden, head, labels, scales, losses, d_hidden, argmax);
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
void frozen_head_argmax(benchmark::State& state) {
  head_loss(state, [](const auto& hidden, const auto& head, auto& labels, auto&, auto& losses,
                      const auto&, auto& argmax) {
    draftlab::frozen_head_argmax(hidden, head, labels, losses, argmax);
  });
}
void frozen_head_argmax_plain(benchmark::State& state) {
  head_loss(state,
            [](const auto& hidden, const auto& head, auto& labels, auto&, auto& losses, const auto&,
               auto& argmax) { plain_frozen_head_argmax(hidden, head, labels, losses, argmax); });
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

BENCHMARK(frozen_head_loss)->Unit(benchmark::kMillisecond)->UseRealTime();
BENCHMARK(frozen_head_loss_plain)->Unit(benchmark::kMillisecond)->UseRealTime();
BENCHMARK(frozen_head_argmax)->Unit(benchmark::kMillisecond)->UseRealTime();
BENCHMARK(frozen_head_argmax_plain)->Unit(benchmark::kMillisecond)->UseRealTime();
BENCHMARK(block_attention)->Arg(0)->Arg(16)->Unit(benchmark::kMillisecond)->UseRealTime();
BENCHMARK(block_attention_plain)->Arg(0)->Arg(16)->Unit(benchmark::kMillisecond)->UseRealTime();

}  // namespace
}  // namespace draftlab

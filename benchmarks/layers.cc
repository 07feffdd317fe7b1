// Forward and backward of one layer's token mixer, each kind in the same width: hidden 576, 9 heads
// of 64 (3 of keys). A sequence of L tokens has L/8 blocks of 16; context up to the last anchor.
#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <benchmark/benchmark.h>

#include <numeric>

#include "benchmarks/drafting_batch.h"
#include "model/drafter.h"
#include "model/layers/token_mixer.h"

namespace draftlab {
namespace {

constexpr int kThreads = 1;

DrafterConfig one_layer(const std::string& kind) {
  DrafterConfig config = smollm2_drafter(1, 1, 16);
  config.layer_types = {kind};
  config.layer_options = {
      {"num_attention_heads", 9},  {"num_key_value_heads", 3},    {"head_dim", 64},
      {"sliding_window", 64},      {"linear_num_key_heads", 3},   {"linear_num_value_heads", 9},
      {"linear_key_head_dim", 64}, {"linear_value_head_dim", 64}, {"linear_conv_kernel_dim", 4}};
  return config;
}

void mixer(benchmark::State& state, const std::string& kind) {
  at::set_num_threads(kThreads);
  const int64_t length = state.range(0);
  const DrafterConfig config = one_layer(kind);
  const BlockBatch batch = random_batch(config, 1, length, length / 8);
  const int64_t T = batch.sequence_begin.back(), M = batch.blocks() * batch.block_size;
  std::vector<int64_t> positions(T), block_positions;
  std::iota(positions.begin(), positions.end(), 0);
  for (const int64_t anchor : batch.block_anchor)
    for (int64_t k = 0; k < batch.block_size; ++k) block_positions.push_back(anchor + k);
  positions.insert(positions.end(), block_positions.begin(), block_positions.end());
  const LayerBatch rows_of = {
      {batch.sequence_begin, batch.block_sequence, batch.block_anchor, batch.block_size},
      positions,
      block_positions};

  const NamedTensors weights = initial_parameters(config, 1);
  NamedTensors gradients;
  for (const auto& [name, weight] : weights) gradients[name] = at::empty_like(weight);
  const at::Tensor rows = at::randn({T + M, config.hidden_size}), h = rows.slice(0, T).clone();
  at::Tensor out = at::empty_like(h), d_rows = at::empty_like(rows);
  const at::Tensor d_out = at::randn_like(h);
  Workspace workspace(at::kFloat);
  const auto layer = make_token_mixer(kind, config, workspace);
  for (auto _ : state) {
    layer->forward({weights, 0}, rows_of, rows, h, out);
    layer->backward({weights, 0}, {gradients, 0}, rows_of, rows, d_out, d_rows);
  }
  state.counters["tokens"] = static_cast<double>(T + M);
}

void full_attention(benchmark::State& state) { mixer(state, "full_attention"); }
void sliding_attention(benchmark::State& state) { mixer(state, "sliding_attention"); }
void gated_delta_net(benchmark::State& state) { mixer(state, "gated_delta_net"); }
BENCHMARK(full_attention)->Arg(512)->Arg(2048)->Unit(benchmark::kMillisecond);
BENCHMARK(sliding_attention)->Arg(512)->Arg(2048)->Unit(benchmark::kMillisecond);
BENCHMARK(gated_delta_net)->Arg(512)->Arg(2048)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace draftlab

// Tokens a second of the target's forward pass, with random weights of SmolLM2-135M's shapes:
// prompts in one batch (with and without logits for every position) and one step of batched
// decoding. `gemm_share` is the rate of the necessary arithmetic over the rate of at::mm measured
// in the same run. Linear compares at::mm and PackedLinear.
#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <benchmark/benchmark.h>

#include <chrono>

#include "target_model/decoder_loops.h"
#include "target_model/packed_linear.h"
#include "target_model/transformer.h"

namespace draftlab {
namespace {

TransformerConfig smollm2() {
  TransformerConfig c;
  c.architecture = "llama";
  c.layers = 30;
  c.hidden_size = 576;
  c.heads = 9;
  c.kv_heads = 3;
  c.head_dim = 64;
  c.intermediate_size = 1536;
  c.vocab_size = 49152;
  c.context_length = 8192;
  c.rope_theta = 1e5;
  c.tied = true;
  return c;
}

Transformer make_model(Products products) {
  const TransformerConfig c = smollm2();
  const auto matrix = [](int64_t out, int64_t in) { return at::randn({out, in}) * 0.03; };
  TransformerWeights w;
  w.embedding = w.head = matrix(c.vocab_size, c.hidden_size);
  w.final_norm = at::ones({c.hidden_size});
  for (int64_t l = 0; l < c.layers; ++l) {
    DecoderLayerWeights layer;
    layer.input_norm = layer.post_norm = w.final_norm;
    layer.qkv = matrix((c.heads + 2 * c.kv_heads) * c.head_dim, c.hidden_size);
    layer.output = matrix(c.hidden_size, c.heads * c.head_dim);
    layer.gate_up = matrix(2 * c.intermediate_size, c.hidden_size);
    layer.down = matrix(c.hidden_size, c.intermediate_size);
    w.layers.push_back(std::move(layer));
  }
  return Transformer(c, std::move(w), products);
}

Transformer& model(Products products = Products::kPacked) {
  static Transformer packed = make_model(Products::kPacked);
  static Transformer rowwise = make_model(Products::kRowwise);
  return products == Products::kPacked ? packed : rowwise;
}

double seconds_of(const auto& work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

// GFLOP/s of [512, 576] by [576, 3072], the best of ten.
double gemm_rate() {
  const at::Tensor x = at::randn({512, 576}), w = at::randn({3072, 576});
  at::Tensor y = at::empty({512, 3072});
  double best = 1e9;
  for (int i = 0; i < 10; ++i) best = std::min(best, seconds_of([&] { at::mm_out(y, x, w.t()); }));
  return 2e-9 * 512 * 576 * 3072 / best;
}

// Linear layers, attention over `context` positions, and the head where wanted.
double gflop_per_token(double context, bool with_logits) {
  const TransformerConfig c = smollm2();
  const double linear =
      static_cast<double>(c.hidden_size) * (2 * c.heads + 2 * c.kv_heads) * c.head_dim +
      3.0 * static_cast<double>(c.hidden_size) * static_cast<double>(c.intermediate_size);
  const double attention = 2.0 * context * static_cast<double>(c.heads * c.head_dim);
  const double head = with_logits ? static_cast<double>(c.hidden_size * c.vocab_size) : 0;
  return 2e-9 * (static_cast<double>(c.layers) * (linear + attention) + head);
}

void run(benchmark::State& state, KeyValueCache& cache, const std::vector<TokenRow>& rows,
         double context, bool with_logits) {
  double seconds = 0, gemm = 0;
  model().forward(cache, rows);  // warm up
  for (auto unused : state) {
    gemm = std::max(gemm, gemm_rate());
    const double once = seconds_of([&] {
      const at::Tensor hidden = model().forward(cache, rows);
      if (!with_logits) return;
      for (int64_t begin = 0; begin < hidden.size(0); begin += 128) {
        const at::Tensor logits =
            model().logits(hidden.narrow(0, begin, std::min<int64_t>(128, hidden.size(0) - begin)));
        at::parallel_for(0, logits.size(0), 1, [&](int64_t from, int64_t to) {
          for (int64_t r = from; r < to; ++r) {
            benchmark::DoNotOptimize(
                argmax(logits.data_ptr<float>() + r * logits.size(1), logits.size(1)));
          }
        });
      }
    });
    state.SetIterationTime(once);
    seconds += once;
  }
  const double tokens = static_cast<double>(rows.size()) * static_cast<double>(state.iterations());
  state.counters["tokens/s"] = tokens / seconds;
  state.counters["GEMM_GFLOP/s"] = gemm;
  state.counters["gemm_share"] = tokens * gflop_per_token(context, with_logits) / seconds / gemm;
}

// 12 prompts of 42 tokens in one pass.
void Prefill(benchmark::State& state) {
  constexpr int64_t kPrompts = 12, kLength = 42;
  at::set_num_threads(static_cast<int>(state.range(0)));
  KeyValueCache cache(smollm2(), std::vector<int64_t>(kPrompts, kLength));
  std::vector<TokenRow> rows;
  for (int64_t i = 0; i < kPrompts; ++i) {
    for (int64_t p = 0; p < kLength; ++p) rows.push_back({i, p, static_cast<int32_t>(p * 37 + i)});
  }
  run(state, cache, rows, kLength / 2.0, state.range(1) != 0);
}
BENCHMARK(Prefill)
    ->ArgNames({"threads", "logits"})
    ->ArgsProduct({{1, 2}, {0, 1}})
    ->UseManualTime()
    ->Unit(benchmark::kMillisecond);

// One token of each sequence, 90 positions before it.
void Decode(benchmark::State& state) {
  constexpr int64_t kPosition = 90;
  at::set_num_threads(static_cast<int>(state.range(0)));
  const int64_t batch = state.range(1);
  KeyValueCache cache(smollm2(), std::vector<int64_t>(batch, kPosition + 1));
  std::vector<TokenRow> rows;
  for (int64_t i = 0; i < batch; ++i) rows.push_back({i, kPosition, static_cast<int32_t>(i)});
  run(state, cache, rows, kPosition, true);
}
BENCHMARK(Decode)
    ->ArgNames({"threads", "batch"})
    ->ArgsProduct({{1, 2}, {16, 64, 120}})
    ->UseManualTime()
    ->Unit(benchmark::kMillisecond);

// A pass over a block of one sequence with its logits, 90 positions before it: one row is plain
// decoding, eight are a draft of seven verified. `over_one` is the time over that of one row.
void Verify(benchmark::State& state) {
  constexpr int64_t kPosition = 90;
  at::set_num_threads(static_cast<int>(state.range(0)));
  const int64_t rows = state.range(1);
  Transformer& target = model(state.range(2) != 0 ? Products::kRowwise : Products::kPacked);
  KeyValueCache cache(smollm2(), {kPosition + rows});
  const auto pass = [&](int64_t count) {
    std::vector<TokenRow> block;
    for (int64_t i = 0; i < count; ++i)
      block.push_back({0, kPosition + i, static_cast<int32_t>(i)});
    return seconds_of([&] {
      benchmark::DoNotOptimize(target.logits(target.forward(cache, block)).data_ptr<float>());
    });
  };
  pass(rows);  // warm up
  double of_one = 0, of_block = 0;
  for (auto unused : state) {
    of_one += pass(1);
    const double once = pass(rows);
    of_block += once;
    state.SetIterationTime(once);
  }
  state.counters["over_one"] = of_block / of_one;
}
BENCHMARK(Verify)
    ->ArgNames({"threads", "rows", "rowwise"})
    ->ArgsProduct({{1, 2}, {1, 4, 8, 16}, {0, 1}})
    ->UseManualTime()
    ->Unit(benchmark::kMillisecond);

// The largest matrix of a layer, 20 of them so that none stays in the cache, as in a forward pass.
void Linear(benchmark::State& state) {
  constexpr int64_t kOut = 3072, kIn = 576;
  at::set_num_threads(2);
  const int64_t rows = state.range(0);
  const bool is_packed = state.range(1) != 0;
  const at::Tensor x = at::randn({rows, kIn});
  at::Tensor y = at::empty({rows, kOut});
  std::vector<at::Tensor> weights;
  std::vector<PackedLinear> packed;
  for (int i = 0; i < 20; ++i) packed.emplace_back(weights.emplace_back(at::randn({kOut, kIn})));
  for (auto unused : state) {
    for (size_t i = 0; i < weights.size(); ++i) {
      if (is_packed) {
        benchmark::DoNotOptimize(packed[i](x).data_ptr());
      } else {
        at::mm_out(y, x, weights[i].t());
      }
    }
  }
  state.counters["GFLOP/s"] = benchmark::Counter(20 * 2e-9 * static_cast<double>(rows * kOut * kIn),
                                                 benchmark::Counter::kIsIterationInvariantRate);
}
BENCHMARK(Linear)
    ->ArgNames({"rows", "packed"})
    ->ArgsProduct({{16, 64, 120, 512}, {0, 1}})
    ->UseRealTime()
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace draftlab

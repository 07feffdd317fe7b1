// One training step of a drafter: loss and gradients, clipping, AdamW. The batch is ready
// beforehand. Counters: seconds a step (median), the necessary GFLOP, and the share of the rate at
// which the same machine multiplies large float32 matrices (the better of two shapes), measured in
// between.
#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <benchmark/benchmark.h>

#include <algorithm>
#include <chrono>
#include <vector>

#include "benchmarks/drafting_batch.h"
#include "model/drafter.h"
#include "optim/clipping.h"
#include "optim/optimizer.h"

namespace draftlab {
namespace {

constexpr int kThreads = 2;

template <typename Work>
double seconds_of(const Work& work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

double median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + values.size() / 2, values.end());
  return values[values.size() / 2];
}

// [rows, inner] by [inner, columns]
class Product {
 public:
  Product(int64_t rows, int64_t inner, int64_t columns)
      : a_(at::randn({rows, inner})),
        b_(at::randn({inner, columns})),
        c_(at::empty({rows, columns})),
        gflop_(2e-9 * static_cast<double>(rows * inner * columns)) {}
  void measure() {
    seconds_.push_back(seconds_of([&] { at::mm_out(c_, a_, b_); }));
  }
  double rate() const { return gflop_ / median(seconds_); }

 private:
  at::Tensor a_, b_, c_;
  double gflop_;
  std::vector<double> seconds_;
};

// Linear layers 3 passes (fc 2: its input is data), the frozen head 2 passes on supervised rows,
// attention the products of allowed pairs: 2 forward, 4 backward.
double necessary_gflop(const DrafterConfig& c, const BlockBatch& batch) {
  const double rows = static_cast<double>(batch.blocks() * c.block_size);
  const double context = static_cast<double>(batch.sequence_begin.back());
  const double h = static_cast<double>(c.hidden_size);
  const double queries =
      static_cast<double>(c.layer_option("num_attention_heads") * c.layer_option("head_dim"));
  const double keys =
      static_cast<double>(c.layer_option("num_key_value_heads") * c.layer_option("head_dim"));
  const double layers = static_cast<double>(c.num_hidden_layers());
  const double per_row =
      2 * h * queries + 2 * h * keys + 3 * h * static_cast<double>(c.intermediate_size);
  const double linear = 6 * layers * (rows * per_row + context * 2 * h * keys);
  const double fc = 4 * context * h * h * static_cast<double>(c.num_taps);
  double supervised = 0, pairs = 0;
  for (double weight : batch.weights) supervised += weight > 0;
  for (int64_t anchor : batch.block_anchor)
    pairs += static_cast<double>(c.block_size * (anchor + c.block_size));
  const double head = 4 * supervised * h * static_cast<double>(c.draft_vocab_size);
  return 1e-9 * (linear + fc + head + 12 * layers * pairs * queries);
}

void train_step(benchmark::State& state, const DrafterConfig& config, int64_t sequences,
                int64_t length, int64_t anchors) {
  at::set_num_threads(kThreads);
  const BlockBatch batch = random_batch(config, sequences, length, anchors);
  const at::Tensor embedding = at::randn({config.vocab_size, config.hidden_size}) * 0.05;
  Drafter drafter(config, embedding, embedding);
  const NamedTensors parameters = initial_parameters(config, 1);
  const OptimizerConfig adamw =
      parse_optimizer_config({{"kind", "adamw"}, {"learning_rate", 1e-3}}, "benchmark");
  Optimizer optimizer(adamw, route(parameter_shapes(config), adamw, {}, "benchmark"), parameters);
  NamedTensors gradients;
  Product wide(1024, 576, 49152), cube(1024, 1024, 1024);
  std::vector<double> model_seconds, optimizer_seconds, step_seconds;
  const auto step = [&] {
    model_seconds.push_back(
        seconds_of([&] { drafter.loss_and_gradients(parameters, batch, gradients); }));
    optimizer_seconds.push_back(seconds_of([&] {
      clip_gradients(gradients, 1);
      optimizer.step(gradients, 1);
    }));
    step_seconds.push_back(model_seconds.back() + optimizer_seconds.back());
  };
  step();
  wide.measure();
  model_seconds.clear();
  optimizer_seconds.clear();
  step_seconds.clear();
  for (auto _ : state) {
    step();
    state.SetIterationTime(step_seconds.back());
    wide.measure();
    for (int i = 0; i < 5; ++i) cube.measure();
  }
  const double gflop = necessary_gflop(config, batch), seconds = median(step_seconds);
  state.counters["seconds"] = seconds;
  state.counters["optimizer_seconds"] = median(optimizer_seconds);
  state.counters["GFLOP"] = gflop;
  state.counters["GFLOP/s"] = gflop / seconds;
  state.counters["gemm_wide_GFLOP/s"] = wide.rate();
  state.counters["gemm_1024_GFLOP/s"] = cube.rate();
  state.counters["share_of_gemm_rate"] = gflop / seconds / std::max(wide.rate(), cube.rate());
}

void P1(benchmark::State& state) { train_step(state, smollm2_drafter(2, 3, 8), 4, 256, 32); }
void P2(benchmark::State& state) { train_step(state, smollm2_drafter(5, 5, 16), 1, 512, 64); }
BENCHMARK(P1)->UseManualTime()->Iterations(10)->Unit(benchmark::kMillisecond);
BENCHMARK(P2)->UseManualTime()->Iterations(10)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace draftlab

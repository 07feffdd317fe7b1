// One AdamW update in bytes moved against the rate of a plain copy in the same run, and one step of
// every optimizer on all weights of a drafter.
#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <benchmark/benchmark.h>

#include <algorithm>
#include <chrono>
#include <map>

#include "kernels/adamw_step.h"
#include "optim/clipping.h"
#include "optim/optimizer.h"

namespace draftlab {
namespace {

constexpr int64_t kElements = 8 << 20;  // 32 MiB a tensor, beyond the caches

// Bytes read and written per second by a copy.
double copy_rate() {
  static std::map<int, double> rates;  // by number of threads
  double& rate = rates[at::get_num_threads()];
  if (rate > 0) return rate;
  const at::Tensor from = at::randn({kElements});
  at::Tensor to = at::empty({kElements});
  for (int i = 0; i < 10; ++i) {
    const auto start = std::chrono::steady_clock::now();
    to.copy_(from);
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
    rate = std::max(rate, 8.0 * kElements / seconds.count());
  }
  return rate;
}

using Step = void (*)(at::Tensor&, const at::Tensor&, at::Tensor&, at::Tensor&, const AdamWStep&);

void adamw(benchmark::State& state, Step step) {
  at::set_num_threads(static_cast<int>(state.range(0)));
  at::Tensor w = at::randn({kElements}), m = at::zeros({kElements}), v = at::zeros({kElements});
  const at::Tensor g = at::randn({kElements});
  const double copy = copy_rate();
  const auto start = std::chrono::steady_clock::now();
  for (auto _ : state) step(w, g, m, v, {.learning_rate = 1e-3, .weight_decay = 0.1});
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  // Necessary bytes: w, g, m, v are read, w, m, v written.
  const double rate = 28.0 * kElements * static_cast<double>(state.iterations()) / seconds.count();
  state.counters["GB/s"] = rate / 1e9;
  state.counters["of_copy"] = rate / copy;
}

BENCHMARK_CAPTURE(adamw, plain, adamw_step_plain)
    ->ArgName("threads")
    ->Arg(1)
    ->Arg(2)
    ->UseRealTime()
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(adamw, one_pass, adamw_step)
    ->ArgName("threads")
    ->Arg(1)
    ->Arg(2)
    ->UseRealTime()
    ->Unit(benchmark::kMillisecond);

// Two layers of hidden size 576 with three taps: 8 million weights.
std::vector<ParameterShape> drafter() {
  std::vector<ParameterShape> shapes = {
      {"fc.weight", {576, 1728}}, {"hidden_norm.weight", {576}}, {"norm.weight", {576}}};
  for (int layer = 0; layer < 2; ++layer) {
    const std::string prefix = "layers." + std::to_string(layer) + ".";
    for (const auto& [name, rows, cols] : {std::tuple<const char*, int64_t, int64_t>{"q", 576, 576},
                                           {"k", 192, 576},
                                           {"v", 192, 576},
                                           {"o", 576, 576},
                                           {"gate", 1536, 576},
                                           {"up", 1536, 576},
                                           {"down", 576, 1536}}) {
      shapes.push_back({prefix + name, {rows, cols}});
    }
    shapes.push_back({prefix + "input_norm", {576}});
    shapes.push_back({prefix + "post_attention_norm", {576}});
  }
  return shapes;
}

NamedTensors random(const std::vector<ParameterShape>& shapes) {
  NamedTensors tensors;
  for (const ParameterShape& shape : shapes) tensors[shape.name] = 0.02 * at::randn(shape.shape);
  return tensors;
}

void whole_drafter(benchmark::State& state, const char* kind) {
  at::set_num_threads(static_cast<int>(state.range(0)));
  const auto shapes = drafter();
  const OptimizerConfig config = parse_optimizer_config(JsonObject{{"kind", kind}}, "benchmark");
  Optimizer optimizer(config, route(shapes, config, default_routing(), "benchmark"),
                      random(shapes));
  const NamedTensors gradients = random(shapes);
  for (auto _ : state) optimizer.step(gradients, 1);
}

BENCHMARK_CAPTURE(whole_drafter, adamw, "adamw")
    ->ArgName("threads")
    ->Arg(1)
    ->Arg(2)
    ->UseRealTime()
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(whole_drafter, muon, "muon")
    ->ArgName("threads")
    ->Arg(1)
    ->Arg(2)
    ->UseRealTime()
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(whole_drafter, normuon, "normuon")
    ->ArgName("threads")
    ->Arg(1)
    ->Arg(2)
    ->UseRealTime()
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(whole_drafter, turbo_muon, "turbo_muon")
    ->ArgName("threads")
    ->Arg(1)
    ->Arg(2)
    ->UseRealTime()
    ->Unit(benchmark::kMillisecond);

void clipping(benchmark::State& state) {
  at::set_num_threads(static_cast<int>(state.range(0)));
  NamedTensors gradients = random(drafter());
  for (auto _ : state) benchmark::DoNotOptimize(clip_gradients(gradients, 0));
}
BENCHMARK(clipping)->ArgName("threads")->Arg(1)->Arg(2)->UseRealTime()->Unit(
    benchmark::kMillisecond);

}  // namespace
}  // namespace draftlab

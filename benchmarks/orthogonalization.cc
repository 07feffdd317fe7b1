// What an orthogonalized update costs for the matrices of real drafters: milliseconds, and the
// share of the fp32 GEMM rate (1024^3) that is measured in the same run. Operations are counted for
// the plain methods, 20 m^2 n + 10 m^3 for Newton-Schulz and 16 m^2 n + 8 m^3 for Turbo (m <= n), so
// that a share above 1 means that the fast version leaves operations out.
#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <benchmark/benchmark.h>

#include <algorithm>
#include <chrono>
#include <map>

#include "kernels/orthogonalize.h"

namespace draftlab {
namespace {

double gemm_rate() {
  static std::map<int, double> rates;  // by number of threads
  double& rate = rates[at::get_num_threads()];
  if (rate > 0) return rate;
  const at::Tensor a = at::randn({1024, 1024}), b = at::randn({1024, 1024});
  at::Tensor c = at::empty({1024, 1024});
  for (int i = 0; i < 10; ++i) {
    const auto start = std::chrono::steady_clock::now();
    at::mm_out(c, a, b);
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
    rate = std::max(rate, 2.0 * 1024 * 1024 * 1024 / seconds.count());
  }
  return rate;
}

// Times `orthogonalize_x` and sets the counters.
template <typename Function>
void measure(benchmark::State& state, Method method, Function orthogonalize_x) {
  at::set_num_threads(static_cast<int>(state.range(2)));
  const at::Tensor x = at::randn({state.range(0), state.range(1)});
  const double gemm = gemm_rate();
  const auto start = std::chrono::steady_clock::now();
  for (auto _ : state) benchmark::DoNotOptimize(orthogonalize_x(x));
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;

  const auto m = static_cast<double>(std::min(x.size(0), x.size(1)));
  const auto n = static_cast<double>(std::max(x.size(0), x.size(1)));
  const double operations =
      method == Method::kTurbo ? 16 * m * m * n + 8 * m * m * m : 20 * m * m * n + 10 * m * m * m;
  const double rate = operations * static_cast<double>(state.iterations()) / seconds.count();
  state.counters["GFLOP"] = operations / 1e9;
  state.counters["GFLOP/s"] = rate / 1e9;
  state.counters["of_gemm"] = rate / gemm;
}

void plain(benchmark::State& state, Method method) {
  measure(state, method, [=](const at::Tensor& x) {
    return method == Method::kTurbo ? turbo_newton_schulz(x, 4, Normalization::kScaleFree)
                                    : newton_schulz(x, 5, Normalization::kScaleFree);
  });
}

void fast(benchmark::State& state, Method method) {
  Workspace workspace;
  measure(state, method, [&](const at::Tensor& x) {
    return orthogonalize(x, {method, method == Method::kTurbo ? 4 : 5, Normalization::kScaleFree},
                         workspace);
  });
}

void drafter_shapes(benchmark::internal::Benchmark* benchmark) {
  benchmark->ArgNames({"rows", "cols", "threads"})->Unit(benchmark::kMillisecond)->UseRealTime();
  for (const int64_t threads : {1, 2}) {
    for (const auto& [rows, cols] : {std::pair<int64_t, int64_t>{576, 576},
                                     {192, 576},
                                     {1536, 576},
                                     {576, 1536},
                                     {576, 1728},
                                     {1024, 3072}}) {
      benchmark->Args({rows, cols, threads});
    }
  }
}

BENCHMARK_CAPTURE(plain, newton_schulz, Method::kNewtonSchulz)->Apply(drafter_shapes);
BENCHMARK_CAPTURE(fast, newton_schulz, Method::kNewtonSchulz)->Apply(drafter_shapes);
BENCHMARK_CAPTURE(plain, turbo, Method::kTurbo)->Apply(drafter_shapes);
BENCHMARK_CAPTURE(fast, turbo, Method::kTurbo)->Apply(drafter_shapes);

}  // namespace
}  // namespace draftlab

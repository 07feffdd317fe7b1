// What an orthogonalized update costs for the matrices of real drafters. Per shape and method: the
// form that was chosen, the operations a second counted for the textbook form (dense: 20 m^2 n + 10
// m^3 for five steps, m <= n) and as carried out (actual: a symmetric product counted half), and
// their shares of the fp32 GEMM rate (1024^3), which is measured before and after each row, because
// other work on the machine disturbs both alike. A dense share above 1 means that the fast version
// leaves operations out. The rows `inventory` are whole drafters, one matrix per thread at a time;
// gemm_GFLOP is their time multiplied by the GEMM rate, a cost that does not depend on the machine.
#include "kernels/orthogonalize.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <benchmark/benchmark.h>

#include <algorithm>
#include <atomic>
#include <limits>
#include <string>

#include "base/stopwatch.h"

namespace draftlab {
namespace {

using Shape = std::pair<int64_t, int64_t>;

struct Method {
  const char* name;
  Orthogonalization how;
};

const std::vector<Method>& methods() {
  static const std::vector<Method> methods = {
      {"muon_ns5", {.quintics = quintic_table("kj5")}},
      {"polar_express", {.quintics = polar_express_quintics(1e-3, 5, 0.02, 0.02), .safety = 1.02}},
      {"turbo", {.quintics = quintic_table("aol4"), .steps = 4, .normalizer = Normalizer::kAol}},
      {"gram", {.quintics = quintic_table("pe5_gns"), .form = Form::kGram, .restarts = {2}}},
      {"cubic5", {.quintics = quintic_table("cubic5")}},
  };
  return methods;
}

double gemm_rate() {
  static const at::Tensor a = at::randn({1024, 1024}), b = at::randn({1024, 1024});
  static at::Tensor c = at::empty({1024, 1024});
  double seconds = std::numeric_limits<double>::infinity();
  for (int i = 0; i < 4; ++i) {
    Stopwatch watch;
    at::mm_out(c, a, b);
    seconds = std::min(seconds, watch.lap());
  }
  return 2.0 * 1024 * 1024 * 1024 / seconds;
}

// Times `step` on this many threads; the costs are those of one step.
template <typename Step>
void measure(benchmark::State& state, int threads, double dense_flops, double actual_flops,
             Step step) {
  at::set_num_threads(threads);
  step();  // the workspace grows
  double gemm = gemm_rate(), seconds = 0;
  for (auto _ : state) {
    Stopwatch watch;
    step();
    seconds += watch.lap();
  }
  gemm = std::max(gemm, gemm_rate());
  const double each = seconds / static_cast<double>(state.iterations());
  state.counters["dense_GFLOP/s"] = dense_flops / each / 1e9;
  state.counters["actual_GFLOP/s"] = actual_flops / each / 1e9;
  state.counters["dense_of_gemm"] = dense_flops / each / gemm;
  state.counters["actual_of_gemm"] = actual_flops / each / gemm;
  state.counters["gemm_GFLOP"] = each * gemm / 1e9;
}

void one_matrix(benchmark::State& state, const Method& method, Shape shape, bool fast,
                int threads) {
  const at::Tensor x = at::randn({shape.first, shape.second});
  OrthogonalizationCost cost = orthogonalization_cost(shape.first, shape.second, method.how);
  if (!fast) cost = {"plain", cost.dense_flops, cost.dense_flops, cost.gemms};
  Workspace workspace;
  measure(state, threads, cost.dense_flops, cost.actual_flops, [&] {
    benchmark::DoNotOptimize(fast ? orthogonalize(x, method.how, workspace)
                                  : newton_schulz(x, method.how));
  });
  state.SetLabel(cost.form);
}

// The matrices that Muon updates: attention and MLP of each layer and the fusion of the target's
// hidden states.
std::vector<Shape> inventory(int64_t layers, int64_t width, int64_t kv_width, int64_t mlp_width,
                             int64_t fused_width) {
  std::vector<Shape> shapes = {{width, fused_width}};
  for (int64_t l = 0; l < layers; ++l) {
    for (int i = 0; i < 2; ++i) {
      shapes.insert(shapes.end(), {{mlp_width, width}, {width, width}, {kv_width, width}});
    }
    shapes.emplace_back(width, mlp_width);
  }
  // The costly ones first, so that the threads end together.
  std::stable_sort(shapes.begin(), shapes.end(), [](const Shape& a, const Shape& b) {
    return a.first * a.second > b.first * b.second;
  });
  return shapes;
}

void whole_inventory(benchmark::State& state, const Method& method,
                     const std::vector<Shape>& shapes, int threads) {
  std::vector<at::Tensor> matrices;
  double dense = 0, actual = 0;
  for (const auto& [rows, cols] : shapes) {
    matrices.push_back(at::randn({rows, cols}));
    const OrthogonalizationCost cost = orthogonalization_cost(rows, cols, method.how);
    dense += cost.dense_flops;
    actual += cost.actual_flops;
  }
  std::vector<Workspace> workspaces(threads);
  measure(state, threads, dense, actual, [&] {
    std::atomic<size_t> next = 0;
    at::parallel_for(0, threads, 1, [&](int64_t begin, int64_t end) {
      for (int64_t thread = begin; thread < end; ++thread) {
        for (size_t i = next++; i < matrices.size(); i = next++)
          benchmark::DoNotOptimize(orthogonalize(matrices[i], method.how, workspaces[thread]));
      }
    });
  });
  state.counters["dense_GFLOP"] = dense / 1e9;
  state.counters["actual_GFLOP"] = actual / 1e9;
}

const bool registered = [] {
  const auto add = [](const std::string& name, auto... arguments) {
    benchmark::RegisterBenchmark(name.c_str(), arguments...)
        ->Unit(benchmark::kMillisecond)
        ->UseRealTime();
  };
  for (const int threads : {1, 2}) {
    const std::string suffix = "/threads:" + std::to_string(threads);
    for (const Method& method : methods()) {
      for (const Shape& shape :
           {Shape{576, 576}, {192, 576}, {1536, 576}, {576, 1536}, {576, 1728}, {1024, 3072}}) {
        for (const bool fast : {false, true}) {
          add(std::string(fast ? "fast/" : "plain/") + method.name + "/" +
                  std::to_string(shape.first) + "x" + std::to_string(shape.second) + suffix,
              [=, &method](benchmark::State& state) {
                one_matrix(state, method, shape, fast, threads);
              });
        }
      }
      add(std::string("inventory/") + method.name + "/2_layers_of_576" + suffix,
          [=, &method](benchmark::State& state) {
            whole_inventory(state, method, inventory(2, 576, 192, 1536, 1728), threads);
          });
      if (threads == 1) continue;  // the larger one takes many seconds
      add(std::string("inventory/") + method.name + "/5_layers_of_1024" + suffix,
          [=, &method](benchmark::State& state) {
            whole_inventory(state, method, inventory(5, 1024, 512, 3072, 5120), threads);
          });
    }
  }
  return true;
}();

}  // namespace
}  // namespace draftlab

// One AdamW update in bytes moved against the rate of a plain copy and against PyTorch's own fused
// AdamW, and one step of every optimizer on all weights of a drafter. For those that orthogonalize:
// operations a second counted for the textbook form (dense) and as carried out (actual), and the
// dense ones against the fp32 GEMM rate (1024^3). All rates are measured in the same row, because
// other work on the machine disturbs them alike; gemm_GFLOP is the time of a step multiplied by the
// GEMM rate, a cost that does not depend on the machine.
#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <benchmark/benchmark.h>

#include <algorithm>
#include <limits>
#include <string>

#include "base/stopwatch.h"
#include "kernels/adamw_step.h"
#include "optim/clipping.h"
#include "optim/optimizer.h"
#include "optim/orthogonalization.h"
#include "optim/update_rule.h"
#include "record/optimizer_kind.h"

namespace draftlab {
namespace {

constexpr int64_t kElements = 8 << 20;  // 32 MiB a tensor, beyond the caches
constexpr double kNever = std::numeric_limits<double>::infinity();

struct AdamWTensors {
  at::Tensor w = at::randn({kElements}), g = at::randn({kElements}), m = at::zeros({kElements}),
             v = at::zeros({kElements});
  at::Tensor steps = at::ones({});
};

void ours(AdamWTensors& t) {
  adamw_step(t.w, t.g, t.m, t.v, {.learning_rate = 1e-3, .weight_decay = 0.1});
}
void plain(AdamWTensors& t) {
  adamw_step_plain(t.w, t.g, t.m, t.v, {.learning_rate = 1e-3, .weight_decay = 0.1});
}
void cautious(AdamWTensors& t) {
  adamw_step(
      t.w, t.g, t.m, t.v,
      {.learning_rate = 1e-3, .weight_decay = 0.1, .cautious_decay = true, .cautious = true});
}
void peer(AdamWTensors& t) {
  at::_fused_adamw_({t.w}, {t.g}, {t.m}, {t.v}, {}, {t.steps}, /*lr=*/1e-3, 0.9, 0.999,
                    /*weight_decay=*/0.1, 1e-8, /*amsgrad=*/false, /*maximize=*/false);
}

// Each in turn with a copy and the peer, so that the ratios are of the same seconds.
void adamw(benchmark::State& state, void (*step)(AdamWTensors&), int threads) {
  at::set_num_threads(threads);
  AdamWTensors tensors, others;
  at::Tensor copy = at::empty({kElements});
  double best = kNever, best_copy = kNever, best_peer = kNever;
  for (auto _ : state) {
    Stopwatch watch;
    copy.copy_(tensors.g);
    best_copy = std::min(best_copy, watch.lap());
    peer(others);
    best_peer = std::min(best_peer, watch.lap());
    step(tensors);
    const double seconds = watch.lap();
    best = std::min(best, seconds);
    state.SetIterationTime(seconds);
  }
  // Necessary bytes: w, g, m, v are read, w, m, v written.
  state.counters["GB/s"] = 28e-9 * kElements / best;
  state.counters["of_copy"] = 28 / best / (8 / best_copy);
  state.counters["of_peer_time"] = best / best_peer;
}

// Layers of attention and MLP, and the fusion of the target's hidden states.
struct Inventory {
  const char* name;
  int64_t layers, width, kv_width, mlp_width, fused_width;
};
constexpr Inventory kInventories[] = {{"8M_weights", 2, 576, 192, 1536, 1728},
                                      {"68M_weights", 5, 1024, 512, 3072, 5120}};

std::vector<ParameterShape> drafter(const Inventory& of) {
  const int64_t d = of.width;
  std::vector<ParameterShape> shapes = {
      {"fc.weight", {d, of.fused_width}}, {"hidden_norm.weight", {d}}, {"norm.weight", {d}}};
  for (int64_t layer = 0; layer < of.layers; ++layer) {
    const std::string prefix = "layers." + std::to_string(layer) + ".";
    for (const auto& [name, rows, cols] :
         {std::tuple<const char*, int64_t, int64_t>{"self_attn.q_proj.weight", d, d},
          {"self_attn.k_proj.weight", of.kv_width, d},
          {"self_attn.v_proj.weight", of.kv_width, d},
          {"self_attn.o_proj.weight", d, d},
          {"mlp.gate_proj.weight", of.mlp_width, d},
          {"mlp.up_proj.weight", of.mlp_width, d},
          {"mlp.down_proj.weight", d, of.mlp_width}}) {
      shapes.push_back({prefix + name, {rows, cols}, rows % 64 == 0 ? 64 : 0});
    }
    shapes.push_back({prefix + "input_layernorm.weight", {d}});
    shapes.push_back({prefix + "post_attention_layernorm.weight", {d}});
  }
  return shapes;
}

NamedTensors random(const std::vector<ParameterShape>& shapes) {
  NamedTensors tensors;
  for (const ParameterShape& shape : shapes) tensors[shape.name] = 0.02 * at::randn(shape.shape);
  return tensors;
}

OptimizerConfig config_of(const std::string& options) {
  return parse_optimizer_config(parse_json(options, "options"), "options");
}

double gemm_seconds() {
  static const at::Tensor a = at::randn({1024, 1024}), b = at::randn({1024, 1024});
  static at::Tensor c = at::empty({1024, 1024});
  double seconds = kNever;
  for (int i = 0; i < 4; ++i) {
    Stopwatch watch;
    at::mm_out(c, a, b);
    seconds = std::min(seconds, watch.lap());
  }
  return seconds;
}

void whole_drafter(benchmark::State& state, const std::string& options, const Inventory& inventory,
                   int threads, bool measured) {
  at::set_num_threads(threads);
  const auto shapes = drafter(inventory);
  const OptimizerConfig config = config_of(options);
  const std::vector<Route> table = route(shapes, config, {}, "benchmark");
  const NamedTensors weights = random(shapes), gradients = random(shapes);
  Optimizer optimizer(config, table, weights);
  optimizer.step(gradients, 1);  // scratch grows
  double gemm = gemm_seconds(), seconds = 0, best = kNever;
  for (auto _ : state) {
    Stopwatch watch;
    double without_measuring = 0;
    if (measured) {
      benchmark::DoNotOptimize(optimizer.measured_step(gradients, 1, without_measuring));
    } else {
      optimizer.step(gradients, 1);
    }
    const double each = watch.lap();
    best = std::min(best, each);
    seconds += each;
  }
  gemm = std::min(gemm, gemm_seconds());
  state.counters["best_ms"] = 1e3 * best;
  if (!config.has("orthogonalizer")) return;
  double dense = 0, actual = 0;
  for (const Route& route : table) {
    if (route.rule != config.kind || route.shape.size() != 2) continue;
    for (const RowBlocks& part : row_blocks(route)) {
      const OrthogonalizationCost cost =
          orthogonalization_cost(part.rows, route.shape[1], orthogonalization(config));
      dense += static_cast<double>(part.blocks) * cost.dense_flops;
      actual += static_cast<double>(part.blocks) * cost.actual_flops;
    }
  }
  const double gemm_rate = 2.0 * 1024 * 1024 * 1024 / gemm,
               each = seconds / static_cast<double>(state.iterations());
  state.counters["dense_GFLOP"] = dense / 1e9;
  state.counters["dense_GFLOP/s"] = dense / each / 1e9;
  state.counters["actual_GFLOP/s"] = actual / each / 1e9;
  state.counters["dense_of_gemm"] = dense / each / gemm_rate;
  state.counters["gemm_GFLOP/s"] = gemm_rate / 1e9;
  state.counters["gemm_GFLOP"] = each * gemm_rate / 1e9;
}

void clipping(benchmark::State& state, int threads) {
  at::set_num_threads(threads);
  NamedTensors gradients = random(drafter(kInventories[0]));
  for (auto _ : state) benchmark::DoNotOptimize(clip_gradients(gradients, 0));
}

// Every kind, and variants whose steps take another time.
std::vector<std::pair<std::string, std::string>> optimizers() {
  std::vector<std::pair<std::string, std::string>> all;
  for (const OptimizerKind& kind : optimizer_kinds())
    all.emplace_back(kind.name, R"({"kind": ")" + kind.name + "\"}");
  all.insert(all.end(),
             {{"adamw_cautious", R"({"kind": "adamw", "cautious": true, "decay": "cautious"})"},
              {"muon_cautious", R"({"kind": "muon", "cautious": true, "decay": "cautious"})"},
              {"adamw_hyperball", R"({"kind": "adamw", "hyperball": true})"},
              {"muon_hyperball", R"({"kind": "muon", "hyperball": true})"},
              {"muon_polar_express", R"({"kind": "muon", "orthogonalizer": "polar_express"})"},
              {"muon_cubic5", R"({"kind": "muon", "orthogonalizer": "cubic5"})"}});
  return all;
}

const bool registered = [] {
  const auto add = [](const std::string& name, auto function) {
    return benchmark::RegisterBenchmark(name.c_str(), function)->Unit(benchmark::kMillisecond);
  };
  for (const int threads : {1, 2}) {
    const std::string suffix = "/threads:" + std::to_string(threads);
    for (const auto& [name, step] :
         {std::pair<const char*, void (*)(AdamWTensors&)>{"plain", plain},
          {"one_pass", ours},
          {"cautious", cautious},
          {"peer", peer}}) {
      add("adamw/" + std::string(name) + suffix, [step = step, threads](benchmark::State& state) {
        adamw(state, step, threads);
      })->UseManualTime();
    }
    for (const Inventory& inventory : kInventories) {
      const bool large = &inventory != kInventories;
      if (large && threads == 1) continue;  // takes many seconds
      for (const auto& [name, options] : optimizers()) {
        // What is made anew every so many steps, such as SOAP's bases, takes minutes if it is
        // large.
        const bool preconditioned = !optimizer_kind(config_of(options).kind, name).period.empty();
        if (large && preconditioned) continue;
        auto* row = add("step/" + name + "/" + inventory.name + suffix,
                        [options = options, inventory, threads](benchmark::State& state) {
                          whole_drafter(state, options, inventory, threads, false);
                        });
        row->UseRealTime();
        if (preconditioned) row->Iterations(10);  // with one refresh of the preconditioners
      }
    }
    add("measured_step/muon/8M_weights" + suffix, [threads](benchmark::State& state) {
      whole_drafter(state, R"({"kind": "muon"})", kInventories[0], threads, true);
    })->UseRealTime();
    add("clipping" + suffix, [threads](benchmark::State& state) {
      clipping(state, threads);
    })->UseRealTime();
  }
  return true;
}();

}  // namespace
}  // namespace draftlab

// A training step with each loss beside one with cross entropy: the steps take turns in one loop,
// so that whatever else the machine does befalls all of them. Counters: the median seconds of the
// step with cross entropy, and for each loss the median of its ratio to that step of the same turn.
#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <benchmark/benchmark.h>

#include <algorithm>
#include <chrono>
#include <string>
#include <utility>
#include <vector>

#include "benchmarks/drafting_batch.h"
#include "model/drafter.h"
#include "optim/clipping.h"
#include "optim/optimizer.h"

namespace draftlab {
namespace {

constexpr int kThreads = 2;

double median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + values.size() / 2, values.end());
  return values[values.size() / 2];
}

// A drafter that trains on one loss.
class Training {
 public:
  Training(const DrafterConfig& config, const at::Tensor& embedding, const std::string& loss)
      : drafter_(config, embedding, embedding, parse_loss(Json(loss), "benchmark")),
        parameters_(initial_parameters(config, 1)),
        adamw_(parse_optimizer_config({{"kind", "adamw"}, {"learning_rate", 1e-3}}, "benchmark")),
        optimizer_(adamw_, route(parameter_shapes(config), adamw_, {}, "benchmark"), parameters_) {}

  double seconds_of_step(const BlockBatch& batch) {
    const auto start = std::chrono::steady_clock::now();
    drafter_.loss_and_gradients(parameters_, batch, gradients_);
    clip_gradients(gradients_, 1);
    optimizer_.step(gradients_, 1);
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  }

 private:
  Drafter drafter_;
  NamedTensors parameters_, gradients_;
  OptimizerConfig adamw_;
  Optimizer optimizer_;
};

void ratio_to_cross_entropy(benchmark::State& state, const DrafterConfig& config, int64_t sequences,
                            int64_t length, int64_t anchors, const std::string& loss) {
  at::set_num_threads(kThreads);
  const BlockBatch batch = random_batch(config, sequences, length, anchors);
  const at::Tensor embedding = at::randn({config.vocab_size, config.hidden_size}) * 0.05;
  Training usual(config, embedding, "ce"), other(config, embedding, loss);
  usual.seconds_of_step(batch);
  other.seconds_of_step(batch);
  std::vector<double> ce_seconds, seconds, ratios;
  for (auto _ : state) {
    ce_seconds.push_back(usual.seconds_of_step(batch));
    seconds.push_back(other.seconds_of_step(batch));
    ratios.push_back(seconds.back() / ce_seconds.back());
    state.SetIterationTime(seconds.back());
  }
  state.counters["ce_seconds"] = median(ce_seconds);
  state.counters["seconds"] = median(seconds);
  state.counters["ratio"] = median(ratios);
}

// The shapes of the train_step benchmark.
void P1(benchmark::State& state, const std::string& loss) {
  ratio_to_cross_entropy(state, smollm2_drafter(2, 3, 8), 4, 256, 32, loss);
}
void P2(benchmark::State& state, const std::string& loss) {
  ratio_to_cross_entropy(state, smollm2_drafter(5, 5, 16), 1, 512, 64, loss);
}

const bool kRegistered = [] {
  for (const auto& [name, run] : {std::pair("P1", &P1), {"P2", &P2}}) {
    for (const LossKind& kind : loss_kinds()) {
      benchmark::RegisterBenchmark((std::string(name) + "/" + kind.name).c_str(), run, kind.name)
          ->UseManualTime()
          ->Iterations(7)
          ->Unit(benchmark::kMillisecond);
    }
  }
  return true;
}();

}  // namespace
}  // namespace draftlab

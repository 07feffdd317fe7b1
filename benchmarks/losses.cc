// A training step with each loss beside one with cross entropy: the steps take turns in one loop,
// so that whatever else the machine does befalls all of them. Counters: the median seconds of the
// step with cross entropy, and for each loss the median of its ratio to that step of the same turn.
#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <benchmark/benchmark.h>

#include <algorithm>
#include <chrono>
#include <memory>
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

void losses(benchmark::State& state, const DrafterConfig& config, int64_t sequences, int64_t length,
            int64_t anchors) {
  at::set_num_threads(kThreads);
  const BlockBatch batch = random_batch(config, sequences, length, anchors);
  const at::Tensor embedding = at::randn({config.vocab_size, config.hidden_size}) * 0.05;
  std::vector<std::unique_ptr<Training>> trainings;
  for (const LossKind& kind : loss_kinds()) {
    trainings.push_back(std::make_unique<Training>(config, embedding, kind.name));
    trainings.back()->seconds_of_step(batch);
  }
  std::vector<double> usual;
  std::vector<std::vector<double>> ratios(trainings.size());
  for (auto _ : state) {
    for (size_t i = 0; i < trainings.size(); ++i) {
      const double seconds = trainings[i]->seconds_of_step(batch);
      if (i == 0) usual.push_back(seconds);
      ratios[i].push_back(seconds / usual.back());
    }
    state.SetIterationTime(usual.back());
  }
  state.counters["ce_seconds"] = median(usual);
  for (size_t i = 1; i < trainings.size(); ++i)
    state.counters[loss_kinds()[i].name + "/ce"] = median(ratios[i]);
}

void P1(benchmark::State& state) { losses(state, smollm2_drafter(2, 3, 8), 4, 256, 32); }
void P2(benchmark::State& state) { losses(state, smollm2_drafter(5, 5, 16), 1, 512, 64); }
BENCHMARK(P1)->UseManualTime()->Iterations(5)->Unit(benchmark::kMillisecond);
BENCHMARK(P2)->UseManualTime()->Iterations(5)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace draftlab

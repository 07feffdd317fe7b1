// All fairness checks over as many runs as a large tuned sweep has.
#include <benchmark/benchmark.h>

#include <cmath>

#include "reports/checks/fairness.h"

namespace draftlab {
namespace {

DrafterConfig drafter() {
  DrafterConfig config;
  config.hidden_size = 576;
  config.intermediate_size = 384;
  config.layer_options["num_attention_heads"] = config.layer_options["num_key_value_heads"] = 3;
  config.layer_options["head_dim"] = 64;
  config.layer_types = {"full_attention", "full_attention", "full_attention"};
  config.block_size = 8;
  config.vocab_size = config.draft_vocab_size = 4096;
  config.num_taps = 3;
  return config;
}

Result run_of(int64_t index, int64_t evaluations) {
  static const std::vector<std::string> kinds = {"adamw", "muon", "normuon", "turbo_muon"};
  const std::string& kind = kinds[static_cast<size_t>(index % 4)];
  const int64_t seed = index / 4 % 5, setting = index / 20;
  Result r;
  r.arm = kind;
  r.run = kind + " " + std::to_string(index);
  r.optimizer = parse_optimizer_config(
      JsonObject{{"kind", kind}, {"learning_rate", 1e-3 * (1 + static_cast<double>(setting))}},
      "benchmark");
  r.config.optimizer = r.optimizer;
  r.seeds = r.config.seeds = {seed, seed, seed};
  r.segments = {r.run};
  r.config.drafter = drafter();
  r.config.training.steps = evaluations;
  r.config.routing = route(parameter_shapes(r.config.drafter), r.optimizer, {}, "benchmark");
  r.outcome = "done";
  r.steps = evaluations;
  r.alone = true;
  r.train_seconds = static_cast<double>(evaluations);
  for (int64_t step = 0; step <= evaluations; ++step) {
    r.config.evaluation.steps.push_back(step);
    EvaluationRow row;
    row.step = step;
    row.tokens = 100 * step;
    row.train_seconds = static_cast<double>(step);
    row.loss = 10 - std::sqrt(static_cast<double>(step + index));
    row.acceptance_length = 2 + 1e-4 * static_cast<double>(step + index);
    row.blocks = 400;
    row.prompts = 40;
    row.data_hash = std::to_string(1000000000000000 + 100000 * seed + step);
    r.held_out.push_back(std::move(row));
  }
  r.baselines = Baselines{.bigram_acceptance_length = 1.1,
                          .bigram_acceptance_length_argmax = 1.1,
                          .blocks = 400,
                          .prompts = 40,
                          .initial_weights_hash = std::to_string(seed),
                          .duplicates = 0};
  r.lives = {{"host", 0, {"AVX2", "cpu", "X", 2, 1}, {{"commit", "abc"}, {"libtorch", "2.11.0"}}}};
  return r;
}

void BM_AllChecks(benchmark::State& state) {
  Study study;
  for (int64_t i = 0; i < state.range(0); ++i) study.results.push_back(run_of(i, state.range(1)));
  study.plan.target = {"acceptance_length", 2.01};
  study.summary = summarize(study.results, study.plan.target);
  for (auto _ : state) benchmark::DoNotOptimize(check(study));
  state.counters["runs"] = static_cast<double>(state.range(0));
}
BENCHMARK(BM_AllChecks)
    ->ArgNames({"runs", "evaluations"})
    ->Args({200, 200})
    ->Args({1000, 20})
    ->Args({1000, 200})
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace draftlab

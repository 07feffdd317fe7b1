#include "testing/synthetic_folder.h"

#include <unistd.h>

#include <cmath>
#include <limits>
#include <set>

#include "base/file.h"
#include "base/hash.h"
#include "base/number_text.h"
#include "record/events.h"
#include "record/lives.h"
#include "record/metrics.h"

namespace draftlab {
namespace {

constexpr double kModelSeconds = 0.05, kDataSeconds = 0.001;

DrafterConfig drafter() {
  DrafterConfig config;
  config.hidden_size = 576;
  config.intermediate_size = 384;
  config.layer_options["num_attention_heads"] = config.layer_options["num_key_value_heads"] = 3;
  config.layer_options["head_dim"] = 64;
  config.layer_types = {"sliding_attention"};
  config.layer_options["sliding_window"] = 16;
  config.block_size = 4;
  config.vocab_size = 49152;
  config.draft_vocab_size = 4096;
  config.num_taps = 3;
  config.initializer_range = 0.04;
  return config;
}

OptimizerConfig optimizer(const SyntheticArm& arm, double rate) {
  JsonObject object{{"kind", arm.kind}, {"learning_rate", rate}};
  if (arm.kind != "adamw") object["scale"] = "match_rms";
  for (const auto& option : arm.options) object[option.key()] = option.value();
  return parse_optimizer_config(object, "synthetic");
}

EvaluationRow evaluation(int64_t step, int64_t steps, double length, double step_seconds,
                         const std::string& split) {
  const double progress = std::sqrt(static_cast<double>(step) / static_cast<double>(steps));
  EvaluationRow row;
  row.step = step;
  row.split = split;
  row.tokens = 150 * step;
  row.train_seconds = step_seconds * static_cast<double>(step);
  row.loss = 12 - 4 * length * progress;
  row.blocks = 1200;
  row.prompts = 36;
  row.acceptance_length = 1 + (length - 1) * progress;
  row.acceptance_length_argmax = row.acceptance_length + 0.02 * progress;
  row.acceptance_length_per_prompt = row.acceptance_length - 0.01 * progress;
  const double excess = row.acceptance_length - 1;
  row.prefix_share = {0.7 * excess, 0.2 * excess, 0.1 * excess};
  row.slot_accuracy = {0.7 * excess, 0.3 * excess, 0.2 * excess};
  return row;
}

// What newer versions record: the data that the run saw, and at the end the counts of each prompt.
void add_identity(const SegmentConfig& config, EvaluationRow& row) {
  row.data_hash = sha256_hex(std::to_string(config.seeds.data) + ' ' + std::to_string(row.step));
  row.data_hash.resize(16);
  if (row.step != config.training.steps) return;
  for (int64_t prompt = 0; prompt < row.prompts; ++prompt) {
    row.prompt_blocks.push_back(33 + (prompt % 3 == 0));
    const double share = (0.5 + static_cast<double>(prompt) / 35) * (row.acceptance_length - 1);
    row.prompt_matches.push_back(
        std::llround(share * static_cast<double>(row.prompt_blocks.back())));
  }
}

// One row for each kind of layer.
void add_updates(const SegmentConfig& config, int64_t step, MetricsLog& log) {
  std::set<std::string> kinds;
  for (const Route& route : config.routing) {
    UpdateRow row{.step = step, .kind = tensor_kind(route.name), .rule = route.rule};
    if (!kinds.insert(row.kind).second) continue;
    row.weight_rms = 0.04;
    row.update_rms = 0.04 * config.optimizer.learning_rate();
    if (route.rule != "adamw") {
      row.alignment = row.kind == "fc" ? 0.8 : 0.9;
      row.deviation = row.kind == "fc" ? 0.4 : 0.3;
    }
    if (step == config.training.steps && route.shape.size() == 2) {
      row.weight_spectrum = {0.5, 1, 1.5, 2, 4};
      row.momentum_spectrum = {0, 0, 0.001, 0.01, route.rule == "adamw" ? 0.1 : 0.02};
      row.weight_stable_rank = 8.5;
      row.momentum_stable_rank = route.rule == "adamw" ? 1.25 : 2.5;
    }
    log.add(row);
  }
}

void write_metrics(const SegmentFolder& segment, const SegmentConfig& config, double length,
                   double optimizer_seconds, int64_t last_step, bool diverged, bool updates) {
  MetricsLog log(segment.metrics(), 0);
  const double step_seconds = kDataSeconds + kModelSeconds + optimizer_seconds;
  for (int64_t step = 0; step <= last_step; ++step) {
    if (step > 0) {
      StepRow row{step,
                  150 * step,
                  5,
                  config.optimizer.learning_rate(),
                  1 + 1 / static_cast<double>(step),
                  step <= 50,
                  kDataSeconds,
                  kModelSeconds,
                  optimizer_seconds};
      if (diverged && step == last_step) row.loss = std::numeric_limits<double>::quiet_NaN();
      log.add(row);
    }
    for (int64_t at : config.evaluation.steps) {
      if (at != step) continue;
      if (updates && step > 0) add_updates(config, step, log);
      EvaluationRow held_out =
          evaluation(step, config.training.steps, length, step_seconds, "held_out");
      if (updates) add_identity(config, held_out);
      log.add(held_out);
      if (config.split.tuning > 0)
        log.add(evaluation(step, config.training.steps, length - 0.005, step_seconds, "tuning"));
    }
  }
  log.flush();
}

void write_segment(const RunFolder& folder, const PlannedRun& run, const SegmentConfig& config,
                   double length, double optimizer_seconds, bool updates, const SyntheticEnd& end) {
  if (end.kind == "not started") return;
  const SegmentFolder segment(folder, run.segments.front());
  make_folder(segment.root());
  const bool done = end.kind == "done";
  const int64_t last_step = done ? config.training.steps : 60;
  write_metrics(segment, config, length, optimizer_seconds, last_step, end.kind == "diverged",
                updates);
  Baselines baselines{1.18, 1.21, 1200, 36};
  if (updates) {
    baselines.initial_weights_hash = sha256_hex(std::to_string(config.seeds.weights));
    baselines.duplicates = 0;
  }
  write_baselines(segment.baselines(), baselines);
  std::filesystem::remove(segment.provenance());
  add_life(segment.provenance(),
           {"synthetic",
            0,
            {"AVX2", "cpu", "Synthetic 9000", 2, 1},
            {{"draftlab_version", "0.1.0"}, {"build_type", "Release"}, {"libtorch", "2.11.0"}}});
  if (end.kind == "unfinished") return;
  if (end.kind == "broken") return replace_file(segment.outcome(), "{\"outcome\": ");
  Outcome outcome;
  for (OutcomeKind kind : {OutcomeKind::kDone, OutcomeKind::kDiverged, OutcomeKind::kFailed,
                           OutcomeKind::kInterrupted}) {
    if (outcome_name(kind) == end.kind) outcome.kind = kind;
  }
  outcome.step = last_step;
  outcome.reason = end.reason;
  if (done) outcome.weights_hash = sha256_hex(segment.id());
  outcome.peak_memory_bytes = 1 << 30;
  write_outcome(segment.outcome(), outcome);
}

StoreFacts store_facts() {
  return {.target_name = "SmolLM2-135M-Instruct",
          .target_architecture = "llama",
          .target_sha256 = "b179c9523d0e6a0f98a330c7562b682750a6f8c8",
          .tokenizer_sha256 = "00ff",
          .responses = "temperature 0.7 seed 1",
          .taps = {1, 14, 27},
          .target_layers = 30,
          .records = 240,
          .tokens = 240 * 130,
          .response_tokens = 240 * 88,
          .looped_share = 0.0333};
}

}  // namespace

SyntheticSweep SyntheticSweep::of_four() {
  SyntheticSweep sweep;
  sweep.arms = {
      {"AdamW", "adamw", {5e-4, 1e-3, 2e-3, 4e-3}, {1.2241, 1.283, 1.2412, 1.2103}, 0.004},
      {"Muon", "muon", {5e-3, 1e-2, 2e-2}, {1.3934, 1.395, 1.3585}, 0.11},
      {"NorMuon", "normuon", {5e-3, 1e-2, 2e-2}, {1.3916, 1.398, 1.3417}, 0.115},
      {"Turbo-Muon", "turbo_muon", {5e-3, 1e-2, 2e-2}, {1.3728, 1.3893, 1.3559}, 0.09},
  };
  return sweep;
}

std::filesystem::path scratch_folder(const std::string& name) {
  const std::filesystem::path memory = "/dev/shm";
  const std::filesystem::path base =
      ::access(memory.c_str(), W_OK) == 0 ? memory : std::filesystem::temp_directory_path();
  return base / (name + "." + std::to_string(::getpid()));
}

std::string synthetic_run(const std::string& arm, double rate, int64_t seed) {
  return arm + " lr=" + number_text(rate) + " seed=" + std::to_string(seed);
}

RunFolder write_synthetic_folder(const std::filesystem::path& root, const SyntheticSweep& sweep,
                                 const std::vector<SyntheticEnd>& ends) {
  const RunFolder folder(root);
  make_folder(folder.segments());

  PlanRecord plan;
  EventLog events(folder.events());
  plan.name = sweep.name;
  plan.sweep_file = "sweeps/" + sweep.name + ".json";
  plan.sweep = JsonObject{{"name", sweep.name}};
  plan.store = JsonObject{{"folder", folder.store().string()}};
  plan.store_folder = folder.store();
  plan.store_hash = std::string(64, 'f');
  plan.store_facts = store_facts();
  plan.target = sweep.target;

  SegmentConfig config;
  config.drafter = drafter();
  config.training.steps = config.to_step = sweep.steps;
  config.training.gamma = 4;
  config.evaluation.steps = sweep.evaluations;
  config.split = {204 - sweep.tuning, sweep.tuning, 36};
  config.store = plan.store_hash;
  if (sweep.change) sweep.change(config);
  plan.store_hash = config.store;

  double clock = 1.7e9;
  int64_t place = -1;
  for (const SyntheticArm& arm : sweep.arms) {
    ++place;
    for (size_t i = 0; i < arm.rates.size(); ++i) {
      for (int64_t seed = 1; seed <= sweep.seeds; ++seed) {
        config.optimizer = optimizer(arm, arm.rates[i]);
        config.routing = route(parameter_shapes(config.drafter), config.optimizer, {}, "synthetic");
        config.seeds = {seed, seed, seed};
        const PlannedRun run{synthetic_run(arm.name, arm.rates[i], seed),
                             arm.name,
                             arm.rates.size() < 2 ? "" : "lr=" + number_text(arm.rates[i]),
                             config.optimizer,
                             config.seeds,
                             {segment_id(config)}};
        plan.segments.push_back({run.segments.front(), config});
        plan.runs.push_back(run);

        SyntheticEnd end{run.name, "done", ""};
        for (const SyntheticEnd& one : ends) {
          if (one.run == run.name) end = one;
        }
        const double length = arm.lengths[i] + 0.01 * static_cast<double>(seed - 2) +
                              0.004 * static_cast<double>((seed + place) % 3 - 1);
        write_segment(folder, run, config, length, arm.optimizer_seconds, sweep.updates, end);
        WorkerEvent event{run.segments.front(), clock, clock + 20, end.kind, 1};
        events.start(event);
        events.end(event);
        clock += sweep.in_company ? 15 : 30;
      }
    }
  }
  write_plan(folder.plan(), plan);
  return folder;
}

}  // namespace draftlab

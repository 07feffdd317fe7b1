#pragma once

#include <gmock/gmock.h>

#include <cmath>
#include <limits>
#include <stdexcept>
#include <string>
#include <vector>

#include "reports/checks/checks.h"
#include "reports/checks/fairness.h"

namespace draftlab {

// What the tests of the checks start from: a study that gives none of them a reason to speak.

inline constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

inline DrafterConfig drafter() {
  DrafterConfig config;
  config.hidden_size = 64;
  config.intermediate_size = 96;
  config.layer_options["num_attention_heads"] = config.layer_options["num_key_value_heads"] = 4;
  config.layer_options["head_dim"] = 16;
  config.layer_types = {"full_attention"};
  config.block_size = 4;
  config.vocab_size = config.draft_vocab_size = 128;
  config.num_taps = 3;
  return config;
}

// A finished run of 100 steps that gives no check a reason to speak.
inline Result run_of(const std::string& arm, const std::string& kind, double rate, int64_t seed,
                     double length) {
  Result r;
  r.arm = arm;
  r.run = arm + " lr=" + std::to_string(rate) + " seed=" + std::to_string(seed);
  JsonObject optimizer{{"kind", kind}, {"learning_rate", rate}, {"weight_decay", 0}};
  r.optimizer = r.config.optimizer = parse_optimizer_config(optimizer, "test");
  r.seeds = r.config.seeds = {seed, seed, seed};
  r.segments = {r.run};
  r.config.drafter = drafter();
  r.config.training.steps = 100;
  r.config.evaluation.steps = {0, 50, 100};
  r.config.split = {200, 20, 40};
  r.config.store = "store";
  r.config.routing = route(parameter_shapes(r.config.drafter), r.optimizer, {}, "test");
  r.outcome = "done";
  r.steps = 100;
  r.tokens = 10000;
  r.train_seconds = 10;
  r.data_seconds = 0.1;
  r.model_seconds = 9;
  r.optimizer_seconds = 0.9;
  r.weights_hash = r.run;
  r.alone = true;
  for (int64_t step : r.config.evaluation.steps) {
    EvaluationRow row;
    row.step = step;
    row.split = "held_out";
    row.tokens = 100 * step;
    row.train_seconds = 0.1 * static_cast<double>(step);
    const double progress = std::sqrt(static_cast<double>(step) / 100);
    row.acceptance_length = 1 + (length - 1) * progress;
    row.loss = 10 - 2 * length * progress;
    row.blocks = 400;
    row.prompts = 40;
    row.data_hash = std::to_string(seed) + "/" + std::to_string(step);
    if (step == 100) row.prompt_blocks = row.prompt_matches = std::vector<int64_t>(40, 10);
    r.held_out.push_back(row);
    row.split = "tuning";
    r.tuning.push_back(row);
    if (step > 0) {
      r.updates.push_back({step, "self_attn.q_proj", kind, 1e-4, 0.1});
      r.gradients.push_back({step, 1, 0, 1});
    }
  }
  r.baselines = Baselines{.bigram_acceptance_length = 1.1,
                          .bigram_acceptance_length_argmax = 1.1,
                          .blocks = 400,
                          .prompts = 40,
                          .initial_weights_hash = "weights " + std::to_string(seed),
                          .duplicates = 0};
  r.lives = {{"host", 0, {"AVX2", "cpu", "X", 2, 1}, {{"commit", "abc"}, {"libtorch", "2.11.0"}}}};
  return r;
}

// Two arms, three rates, the middle one best; trials with seeds 1 to 3, the best with 4 to 6 too.
class FairnessTest : public ::testing::Test {
 protected:
  FairnessTest() {
    study_.plan.target = {"acceptance_length", 1.2};
    study_.plan.sweep =
        JsonObject{{"arms", JsonArray{JsonObject{{"name", "AdamW"},
                                                 {"optimizer", JsonObject{{"kind", "adamw"},
                                                                          {"learning_rate", 0.001},
                                                                          {"weight_decay", 0}}}},
                                      JsonObject{{"name", "Muon"},
                                                 {"optimizer", JsonObject{{"kind", "muon"},
                                                                          {"learning_rate", 0.001},
                                                                          {"weight_decay", 0}}}}}}};
    for (const char* kind : {"adamw", "muon"}) {
      const std::string arm = kind == std::string("adamw") ? "AdamW" : "Muon";
      const double better = arm == "Muon" ? 0.1 : 0;
      for (int64_t seed = 4; seed <= 6; ++seed) {
        add(arm, kind, 0.001, seed, 1.3 + better + 0.001 * static_cast<double>(seed));
      }
    }
  }
  void add(const std::string& arm, const std::string& kind, double rate, int64_t seed,
           double length) {
    study_.results.push_back(run_of(arm, kind, rate, seed, length));
  }
  // Rates half and twice the best, tried with other seeds than the reported ones.
  void add_trials(const std::string& arm, const std::string& kind,
                  std::vector<double> rates = {0.0005, 0.002}) {
    for (double rate : rates) add(arm, kind, rate, 1, 1.1 + rate);
  }
  Result& run(const std::string& arm, size_t i) {
    for (Result& result : study_.results) {
      if (result.arm == arm && i-- == 0) return result;
    }
    throw std::out_of_range(arm);
  }
  // After the times to the target, which load_results finds, of all that the test changed.
  const Study& study() {
    for (Result& r : study_.results) {
      if (study_.plan.target.metric.empty()) continue;
      r.steps_to_target = r.diverged()
                              ? INFINITY
                              : first_crossing(r.curve(Measure::kAcceptanceLength, Clock::kSteps),
                                               study_.plan.target.value, false);
      r.tokens_to_target = *r.steps_to_target * 100;
      r.seconds_to_target = *r.steps_to_target / 10;
    }
    study_.summary = summarize(study_.results, study_.plan.target);
    study_.findings = check(study_);
    return study_;
  }
  Findings of(const std::string& id) {
    Findings findings;
    for (const FairnessFinding& finding : study().findings) {
      if (finding.id == id) findings.push_back(finding);
    }
    return findings;
  }

  Study study_;
};

inline auto finding(Severity severity, const std::string& part) {
  return ::testing::AllOf(::testing::Field(&FairnessFinding::severity, severity),
                          ::testing::Field(&FairnessFinding::sentence, ::testing::HasSubstr(part)));
}
inline auto finding(Severity severity, const std::string& part, const std::string& other) {
  return ::testing::AllOf(finding(severity, part), ::testing::Field(&FairnessFinding::sentence,
                                                                    ::testing::HasSubstr(other)));
}
inline constexpr auto kRefuse = Severity::kRefuse;
inline constexpr auto kWarn = Severity::kWarn;
inline constexpr auto kInform = Severity::kInform;

}  // namespace draftlab

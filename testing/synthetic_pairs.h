#pragma once

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "reports/checks/fairness.h"
#include "reports/decision/decision_context.h"
#include "source_dir.h"
#include "testing/synthetic_switch.h"

namespace draftlab {

// For tests of what is decided: made-up studies of two optimizers, and the run that asks.

inline const std::string kAdamW = R"({"kind": "adamw", "learning_rate": 0.005})";
inline const std::string kMuon = R"({"kind": "muon", "scale": "match_rms", "learning_rate": 0.02})";
inline const std::string kFull = "full_attention", kSliding = "sliding_attention";

inline DecisionContext whole_story() {
  return read_decision_context(std::string(DRAFTLAB_SOURCE_DIR) + "/sweeps/decide_story.json");
}

// About the layers of its drafter alone.
inline DecisionContext story() {
  DecisionContext context = whole_story();
  context.layers_in_question.clear();
  return context;
}

inline Study study_of(std::vector<Result> results, double target = 3) {
  Study study;
  study.plan.name = "test";
  study.plan.target = {"val_loss", target};
  for (Result& r : results) {
    r.steps_to_target = first_crossing(r.curve(Measure::kLoss, Clock::kSteps), target, true);
    r.tokens_to_target = r.seconds_to_target = r.steps_to_target;
  }
  study.results = std::move(results);
  study.summary = summarize(study.results, study.plan.target);
  study.findings = check(study);
  return study;
}

// A loss that falls in a straight line from 6 to `end`.
inline std::vector<double> line_to(double end, int64_t steps) {
  std::vector<double> losses;
  for (int64_t step = 0; step <= steps; step += 10)
    losses.push_back(6 + (end - 6) * static_cast<double>(step) / static_cast<double>(steps));
  return losses;
}

inline double noise(int64_t seed, double scatter) {
  return scatter * static_cast<double>(seed - 2);
}

// Both optimizers from the start, with these ends; seeds scatter apart from each other.
inline void add_pair(std::vector<Result>& results, const SyntheticPath& like, double adamw,
                     double muon, double scatter = 0.01, double step_ratio = 1, int64_t seeds = 3) {
  const int64_t steps = like.training.steps;
  for (int64_t seed = 1; seed <= seeds; ++seed) {
    SyntheticPath a = like, m = like;
    a.arm = "AdamW " + like.arm;
    a.optimizer = kAdamW;
    a.routing = {};
    m.arm = "Muon " + like.arm;
    m.optimizer = kMuon;
    results.push_back(synthetic_run(a, seed, line_to(adamw + noise(seed, 0.01), steps)));
    results.push_back(synthetic_run(m, seed, line_to(muon + noise(seed % 3 + 1, scatter), steps)));
    results.back().train_seconds *= step_ratio;
  }
}

// The acceptance length of the runs with Muon at their end, as if their loss had been `loss`.
inline void accept_as_with(std::vector<Result>& results, double (*loss)(const Result&),
                           double scatter = 0.01) {
  for (Result& r : results) {
    if (r.optimizer.kind != "muon") continue;
    const double length = 10 - loss(r) - noise(r.seeds.data % 3 + 1, scatter);
    r.held_out.back().acceptance_length = length;
    r.held_out.back().prefix_share.assign(7, (length - 1) / 7);
  }
}

inline double law(double tokens) { return 60 / std::sqrt(tokens) + 2; }

// The current optimizer's ends follow a law; the candidate's are those of `ratio` times the tokens.
inline std::vector<Study> budgets(const std::vector<double>& ratios, double scatter = 1e-4,
                                  double (*accepted)(const Result&) = nullptr) {
  std::vector<Result> results;
  int64_t steps = 40;
  for (const double ratio : ratios) {
    const double tokens = 100 * static_cast<double>(steps);
    SyntheticPath path{.arm = std::to_string(steps), .optimizer = "", .training = {.steps = steps}};
    add_pair(results, path, law(tokens), law(ratio * tokens), scatter);
    steps *= 2;
  }
  for (Result& r : results) {
    // The current optimizer scatters as little, so that its law can be judged by it.
    if (r.optimizer.kind != "adamw") continue;
    const double end = law(100 * static_cast<double>(r.steps)) + noise(r.seeds.data, 1e-4);
    r.held_out.back().loss = end;
    r.held_out.back().acceptance_length = 10 - end;
    r.held_out.back().prefix_share.assign(7, (9 - end) / 7);
  }
  if (accepted != nullptr) accept_as_with(results, accepted, 1e-4);
  std::vector<Study> studies;
  studies.push_back(study_of(std::move(results)));
  return studies;
}

// Half of the steps to the target, 0.8 of them to the highest level.
inline std::vector<Study> early_lead() {
  std::vector<Result> results;
  for (int64_t seed = 1; seed <= 3; ++seed) {
    const double s = noise(seed, 1e-3);
    results.push_back(synthetic_run({"AdamW", kAdamW}, seed, {6, 5, 4 + s, 3, 2}));
    results.push_back(synthetic_run({"Muon", kMuon}, seed, {6, 4 + s, 3.5, 2.75, 1.9}));
  }
  std::vector<Study> studies;
  studies.push_back(study_of(std::move(results), 4.01));
  return studies;
}

// Production lies beyond the budgets by either measure: these drafters have 60 parameters.
inline DecisionContext far_story() {
  DecisionContext context = story();
  context.tokens_per_batch = {1e9, 1e9, 1e9};
  return context;
}

}  // namespace draftlab

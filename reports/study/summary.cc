#include "reports/study/summary.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <set>

#include "record/choice.h"
#include "record/option.h"
#include "reports/study/look.h"

namespace draftlab {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

Sample sample(const std::vector<const Result*>& runs,
              const std::function<double(const Result&)>& of) {
  Sample result;
  for (const Result* run : runs) result.values.push_back(of(*run));
  result.estimate = estimate(result.values);
  return result;
}

double per_step(const Result& run, double seconds) {
  return run.steps == 0 ? kNaN : seconds / static_cast<double>(run.steps);
}

// Runs with equal texts are of one setting.
std::string setting_key(const Result& result) {
  return result.point + "\n" + canonical(to_json(result.optimizer));
}

std::vector<Arm> group(const std::vector<Result>& results) {
  std::vector<Arm> arms;
  std::vector<std::string> kinds;  // of the arms
  std::map<std::string, size_t> arm_of_name;
  std::set<std::string> tuned;  // arms that have final runs
  for (const Result& result : results) {
    if (arm_of_name.try_emplace(result.arm, arms.size()).second) {
      arms.push_back({.name = result.arm});
      kinds.push_back(result.optimizer.kind);
    }
    if (result.phase == kFinal) tuned.insert(result.arm);
  }
  std::map<std::pair<std::vector<Setting>*, std::string>, size_t> setting_of;
  for (const Result& result : results) {
    Arm& arm = arms[arm_of_name.at(result.arm)];
    const bool trial = result.phase == kTrial && tuned.contains(result.arm);
    std::vector<Setting>& settings = trial ? arm.trials : arm.settings;
    const auto [entry, added] =
        setting_of.try_emplace({&settings, setting_key(result)}, settings.size());
    if (added)
      settings.push_back({.optimizer = result.optimizer, .place = &result - results.data()});
    Setting& setting = settings[entry->second];
    setting.runs.push_back(&result);
    if (result.done()) setting.finished.push_back(&result);
    if (result.diverged()) ++setting.diverged;
  }
  const std::vector<size_t> all = looks(kinds);
  for (size_t i = 0; i < arms.size(); ++i) arms[i].look = all[i];
  for (Arm& arm : arms) {
    for (auto* settings : {&arm.settings, &arm.trials}) {
      std::stable_sort(settings->begin(), settings->end(), [](const Setting& a, const Setting& b) {
        return a.optimizer.learning_rate() < b.optimizer.learning_rate();
      });
    }
  }
  return arms;
}

TargetCount count_target(const Setting& setting) {
  TargetCount count;
  std::vector<double> steps, tokens, seconds;
  for (const Result* run : setting.runs) {
    if (!run->steps_to_target || !(run->done() || run->diverged())) continue;
    steps.push_back(*run->steps_to_target);
    tokens.push_back(*run->tokens_to_target);
    seconds.push_back(*run->seconds_to_target);
    ++count.of;
    count.reached += std::isfinite(*run->steps_to_target);
  }
  count.steps = median(steps);
  count.tokens = median(tokens);
  count.seconds = median(seconds);
  return count;
}

void measure_setting(Setting& setting, Split chosen_on) {
  const auto& runs = setting.finished;
  for (const MeasureKind& kind : measure_kinds()) {
    const Measure measure = kind.measure;
    const size_t i = static_cast<size_t>(measure);
    setting.first[i] =
        sample(runs, [&](const Result& r) { return r.first(Split::kHeldOut, measure); });
    setting.last[i] =
        sample(runs, [&](const Result& r) { return r.final(Split::kHeldOut, measure); });
    setting.deciding[i] =
        sample(runs, [&](const Result& r) { return r.final(chosen_on, measure); });
  }
  setting.train_seconds = sample(runs, [](const Result& r) { return r.train_seconds; });
  setting.steps_per_second =
      sample(runs, [](const Result& r) { return static_cast<double>(r.steps) / r.train_seconds; });
  setting.seconds_per_step =
      sample(runs, [](const Result& r) { return per_step(r, r.train_seconds); });
  setting.data_per_step = sample(runs, [](const Result& r) { return per_step(r, r.data_seconds); });
  setting.model_per_step =
      sample(runs, [](const Result& r) { return per_step(r, r.model_seconds); });
  setting.optimizer_per_step =
      sample(runs, [](const Result& r) { return per_step(r, r.optimizer_seconds); });
  setting.target = count_target(setting);
}

std::string label_of(const Setting& setting, const std::vector<std::string>& keys) {
  std::string label;
  for (const std::string& key : keys) {
    if (const Json* value = setting.optimizer.find(key))
      label += (label.empty() ? "" : ", ") + key + " " + option_text(*value);
  }
  // What only a switch can tell apart.
  const Result& run = *setting.runs.front();
  return run.segments.size() > 1 ? run.point : label;
}

// Finds what differs between the settings that an arm tried, and names each by it.
void find_swept(Arm& arm) {
  std::vector<OptimizerConfig> points;
  for (const Setting& setting : arm.tried()) points.push_back(setting.optimizer);
  const std::vector<std::string> keys = distinguishing_options(points);
  for (auto* settings : {&arm.settings, &arm.trials}) {
    for (Setting& setting : *settings) setting.label = label_of(setting, keys);
  }
  for (const std::string& key : keys) {
    SweptOption swept{key, {}, false};
    for (const OptimizerConfig& point : points) {
      const Json* value = point.find(key);  // null: not an option of this setting
      if (value != nullptr &&
          std::find(swept.values.begin(), swept.values.end(), *value) == swept.values.end())
        swept.values.push_back(*value);
    }
    const bool numbers = std::all_of(swept.values.begin(), swept.values.end(),
                                     [](const Json& value) { return value.is_number(); });
    if (numbers) {
      std::sort(swept.values.begin(), swept.values.end(), [](const Json& a, const Json& b) {
        return json_number(a, "option") < json_number(b, "option");
      });
    }
    const Json* best = arm.choice ? arm.chosen_trial()->optimizer.find(key) : nullptr;
    swept.at_edge = numbers && swept.values.size() > 1 && best != nullptr &&
                    (*best == swept.values.front() || *best == swept.values.back());
    arm.swept.push_back(std::move(swept));
  }
}

std::vector<const Setting*> pointers(const std::vector<Setting>& settings) {
  std::vector<const Setting*> all;
  for (const Setting& setting : settings) all.push_back(&setting);
  return all;
}

std::optional<Choice> choose_setting(const std::vector<const Setting*>& settings,
                                     Measure chosen_by) {
  std::vector<Candidate> candidates;
  for (const Setting* setting : settings) {
    candidates.push_back({setting->place, setting->diverged,
                          mean_of(deciding(*setting, chosen_by).values),
                          mean_of(deciding(*setting, Measure::kLoss).values)});
  }
  return choose(candidates, kind_of(chosen_by).lower_is_better);
}

// Of the trials that tie, the one with the setting of the final runs: an older version may have
// broken the tie otherwise.
void take_what_ran(Arm& arm) {
  const Setting& final = arm.settings[arm.best.value_or(0)];
  for (const size_t i : arm.choice->tied) {
    if (setting_key(*arm.trials[i].runs.front()) == setting_key(*final.runs.front()))
      arm.choice->best = i;
  }
}

// Whether both ended with the same bits in every seed, and it is known.
bool are_copies(const Arm& a, const Arm& b) {
  if (a.chosen() == nullptr || b.chosen() == nullptr) return false;
  std::map<std::string, std::string> weights;  // by seed
  for (const Result* run : a.chosen()->finished) weights[seed_text(run->seeds)] = run->weights_hash;
  if (weights.size() != b.chosen()->finished.size()) return false;
  return std::ranges::all_of(b.chosen()->finished, [&](const Result* run) {
    const auto found = weights.find(seed_text(run->seeds));
    return !run->weights_hash.empty() && found != weights.end() &&
           found->second == run->weights_hash;
  });
}

void find_copies(std::vector<Arm>& arms) {
  for (size_t i = 0; i < arms.size(); ++i) {
    for (size_t j = 0; j < i && !arms[i].copy_of; ++j) {
      if (!arms[j].copy_of && are_copies(arms[j], arms[i])) arms[i].copy_of = j;
    }
  }
}

}  // namespace

Summary summarize(const std::vector<Result>& results, const TargetLevel& target) {
  Summary summary;
  summary.arms = group(results);
  for (const Result& result : results) {
    if (result.config.split.tuning > 0) summary.chosen_on = Split::kTuning;
    if (!summary.baselines) summary.baselines = result.baselines;
  }
  for (const MeasureKind& kind : measure_kinds()) {
    if (kind.key == target.metric) summary.chosen_by = kind.measure;
  }
  for (Arm& arm : summary.arms) {
    for (auto* settings : {&arm.settings, &arm.trials}) {
      for (Setting& setting : *settings) measure_setting(setting, summary.chosen_on);
    }
    const std::optional<Choice> choice = choose_setting(pointers(arm.settings), summary.chosen_by);
    if (choice) arm.best = choice->best;
    arm.choice = choose_setting(pointers(arm.tried()), summary.chosen_by);
    if (arm.choice && !arm.trials.empty()) take_what_ran(arm);
    find_swept(arm);
  }
  const auto adamw = std::find_if(summary.arms.begin(), summary.arms.end(), [](const Arm& arm) {
    return arm.settings.front().optimizer.kind == "adamw";
  });
  if (adamw != summary.arms.end()) summary.reference = adamw - summary.arms.begin();
  find_copies(summary.arms);

  summary.equal_seconds = kNaN;
  for (const Arm& arm : summary.arms) {
    if (arm.chosen() == nullptr) continue;
    for (const Result* run : arm.chosen()->finished) {
      if (run->held_out.empty()) continue;
      // fmin: NaN gives way.
      summary.equal_seconds = std::fmin(summary.equal_seconds, run->held_out.back().train_seconds);
    }
  }
  for (Arm& arm : summary.arms) {
    if (!arm.best) continue;
    Setting& setting = arm.settings[*arm.best];
    for (const MeasureKind& kind : measure_kinds()) {
      setting.at_equal_seconds[static_cast<size_t>(kind.measure)] =
          sample(setting.finished, [&](const Result& run) {
            return interpolate(run.curve(kind.measure, Clock::kSeconds), summary.equal_seconds);
          });
    }
  }
  return summary;
}

double TargetCount::median(Clock clock) const {
  return clock == Clock::kSteps ? steps : clock == Clock::kTokens ? tokens : seconds;
}

const Setting* best_setting(const std::vector<const Setting*>& settings, Measure chosen_by) {
  const std::optional<Choice> choice = choose_setting(settings, chosen_by);
  return choice ? settings[choice->best] : nullptr;
}

const Sample& deciding(const Setting& setting, Measure measure) {
  return setting.deciding[static_cast<size_t>(measure)];
}

const Sample& at_end(const Setting& setting, Measure measure) {
  return setting.last[static_cast<size_t>(measure)];
}

const Sample& at_equal_seconds(const Setting& setting, Measure measure) {
  return setting.at_equal_seconds[static_cast<size_t>(measure)];
}

std::vector<std::vector<const Setting*>> rate_curves(const Arm& arm) {
  std::vector<std::vector<const Setting*>> curves;
  std::map<std::string, size_t> curve_of_options;
  for (const Setting& setting : arm.tried()) {
    JsonObject others = to_json(setting.optimizer);
    others.erase("learning_rate");
    const auto [entry, added] = curve_of_options.try_emplace(canonical(others), curves.size());
    if (added) curves.emplace_back();
    curves[entry->second].push_back(&setting);
  }
  return curves;
}

std::vector<double> trial_values(const Arm& arm, Measure measure) {
  std::vector<double> values;
  for (const Setting& setting : arm.tried()) {
    const bool dropped = std::ranges::any_of(setting.runs, &Result::dropped);
    if (!setting.finished.empty()) {
      values.push_back(deciding(setting, measure).estimate.mean);
    } else if (setting.diverged > 0 || dropped) {
      values.push_back(kNaN);
    }
  }
  return values;
}

double trial_seconds(const Arm& arm) {
  double seconds = 0;
  for (const Setting& setting : arm.tried()) {
    for (const Result* run : setting.runs) seconds += run->train_seconds;
  }
  return seconds;
}

std::vector<RoutingTotal> routing_totals(const std::vector<Route>& table) {
  std::vector<RoutingTotal> totals;
  for (const Route& route : table) {
    auto total = std::find_if(totals.begin(), totals.end(),
                              [&](const RoutingTotal& t) { return t.rule == route.rule; });
    if (total == totals.end()) total = totals.insert(totals.end(), {route.rule, 0, 0});
    int64_t parameters = 1;
    for (int64_t side : route.shape) parameters *= side;
    ++total->tensors;
    total->parameters += parameters;
  }
  return totals;
}

const Result& example_run(const Arm& arm) {
  return arm.chosen() != nullptr ? *arm.chosen()->finished.front()
                                 : *arm.settings.front().runs.front();
}

Estimate paired_difference(const Setting& a, const Setting& b, Measure measure, SampleOf of) {
  std::vector<double> differences;
  for (size_t i = 0; i < a.finished.size(); ++i) {
    for (size_t j = 0; j < b.finished.size(); ++j) {
      if (!(a.finished[i]->seeds == b.finished[j]->seeds)) continue;
      differences.push_back(of(a, measure).values[i] - of(b, measure).values[j]);
    }
  }
  return estimate(differences);
}

}  // namespace draftlab

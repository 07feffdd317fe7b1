#include "reports/switches/switch_group.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "base/number_text.h"
#include "record/choice.h"
#include "record/optimizer_kind.h"
#include "record/option.h"
#include "record/schedule.h"

namespace draftlab {
namespace {

// An optimizer without what does not reach the weights (a buffer that is only kept for a later
// switch), and without its learning rate where `any_rate`.
JsonObject identity(const OptimizerConfig& optimizer, bool any_rate) {
  JsonObject object = to_json(optimizer);
  for (const OptimizerOption& option : optimizer_kind(optimizer.kind, "optimizer").options) {
    if (!option.reaches_weights) object.erase(option.key);
  }
  if (any_rate) object.erase("learning_rate");
  return object;
}

// What two segments that train alike, whatever their steps and seeds, have in common.
std::string recipe(const SegmentConfig& config, bool any_rate = false) {
  std::string text = canonical(identity(config.optimizer, any_rate));
  for (const Route& route : config.routing)
    text += "\n" + route.name + " " + route.rule + " " + split_text(route);
  return text;
}

std::string start_key(const StartConfig& start) {
  return start.state + " " + std::to_string(start.rewarmup) + " " +
         std::to_string(start.schedule_from);
}

bool schedule_goes_on(const SegmentConfig& before, const SegmentConfig& after) {
  return after.start.rewarmup == 0 && after.start.schedule_from == before.start.schedule_from;
}

// True of a switch that changes nothing.
bool unchanged(const SegmentConfig& before, const SegmentConfig& after) {
  return schedule_goes_on(before, after) && after.start.state == "transfer" &&
         recipe(after) == recipe(before);
}

// Stages [0, count) of a run as text. The last one is taken to go on for ever, so that a run that
// stops there and one that does not are alike.
std::string path_key(const Result& run, size_t count) {
  std::string text = run.folder + canonical(conditions(run.config));
  for (size_t i = 0; i < count; ++i) {
    const SegmentConfig& config = run.stages[i].config;
    text += "\n\nfrom " + std::to_string(config.from_step) + " " + start_key(config.start) + "\n" +
            recipe(config);
  }
  return text;
}

SwitchPlace place_of(const SegmentConfig& before, int64_t step) {
  const Schedule schedule = schedule_of(before.training, before.start.schedule_from);
  return {{step, before.training.steps, schedule.warmup_end},
          schedule.factor(step),
          schedule.decays(step)};
}

void add(const Result& run, SwitchSetting& setting) {
  if (setting.runs.empty() && setting.trials.empty()) setting.optimizer = run.optimizer;
  if (run.phase == kTrial) {
    setting.trials.push_back(&run);
    return;
  }
  setting.runs.push_back(&run);
  if (run.done()) setting.finished.push_back(&run);
  setting.diverged += run.diverged();
}

void add(const Result& run, std::vector<SwitchSetting>& settings) {
  const auto same = std::ranges::find_if(settings, [&](const SwitchSetting& setting) {
    return setting.optimizer.learning_rate() == run.optimizer.learning_rate();
  });
  if (same != settings.end()) return add(run, *same);
  const auto place = static_cast<int64_t>(settings.size());
  settings.emplace_back().place = place;
  add(run, settings.back());
}

std::optional<size_t> best_of(const std::vector<SwitchSetting>& settings, Measure chosen_by,
                              Split chosen_on) {
  std::vector<Candidate> candidates;
  for (const SwitchSetting& setting : settings) {
    const auto mean = [&](Measure measure) {
      std::vector<double> values;
      for (const Result* run : setting.finished) values.push_back(run->final(chosen_on, measure));
      return mean_of(std::move(values));
    };
    candidates.push_back({setting.place, setting.diverged, mean(chosen_by), mean(Measure::kLoss)});
  }
  const std::optional<Choice> choice = choose(candidates, kind_of(chosen_by).lower_is_better);
  return choice ? std::optional(choice->best) : std::nullopt;
}

void sort_by_rate(std::vector<SwitchSetting>& settings) {
  std::ranges::stable_sort(
      settings, {}, [](const SwitchSetting& setting) { return setting.optimizer.learning_rate(); });
}

const Result& example(const SwitchVariant& variant) {
  const SwitchSetting& setting = variant.settings.front();
  return *(setting.runs.empty() ? setting.trials : setting.runs).front();
}

// Each variant by its arm, and by what tells it from others of the same arm.
void name_variants(SwitchGroup& group) {
  std::vector<OptimizerConfig> optimizers;
  for (const SwitchVariant& variant : group.variants)
    optimizers.push_back(variant.settings.front().optimizer);
  for (SwitchVariant& variant : group.variants) {
    variant.name = example(variant).arm;
    std::vector<OptimizerConfig> of_arm;
    std::set<std::string> states, rewarmups, schedules;
    for (const SwitchVariant& other : group.variants) {
      if (example(other).arm != variant.name) continue;
      of_arm.push_back(other.settings.front().optimizer);
      states.insert(other.start.state);
      rewarmups.insert(std::to_string(other.start.rewarmup));
      schedules.insert(std::to_string(other.start.schedule_from));
    }
    std::string more;
    for (const std::string& key : distinguishing_options(of_arm)) {
      const Json* value = variant.settings.front().optimizer.find(key);
      if (key != "learning_rate" && value != nullptr)
        more += ", " + key + " " + option_text(*value);
    }
    if (states.size() > 1) more += ", state " + variant.start.state;
    if (rewarmups.size() > 1) more += ", rewarmup " + std::to_string(variant.start.rewarmup);
    if (schedules.size() > 1) {
      more += variant.start.schedule_from == group.place.step ? ", schedule restarted"
                                                              : ", schedule continued";
    }
    variant.name += more;
  }
}

// A run that trains with one optimizer from step 0 to the end.
struct WholeRun {
  const Result* run;
  std::string conditions, recipe;
};

void find_from_start(const std::vector<WholeRun>& whole, SwitchGroup& group) {
  const std::string wanted_conditions = group.folder + canonical(conditions(group.before));
  for (SwitchVariant& variant : group.variants) {
    if (variant.same_optimizer) continue;
    const std::string wanted = recipe(example(variant).stages.back().config, true);
    for (const WholeRun& one : whole) {
      if (one.conditions == wanted_conditions && one.recipe == wanted)
        add(*one.run, variant.from_start);
    }
    sort_by_rate(variant.from_start);
  }
}

}  // namespace

JsonObject conditions(const SegmentConfig& config) {
  JsonObject object = to_json(config);
  for (const char* key :
       {"optimizer", "routing", "seeds", "parent", "start", "from_step", "to_step"})
    object.erase(key);
  return object;
}

bool same_training(const Result& a, const Result& b) {
  const auto key = [](const Result& run) {
    std::string text = canonical(conditions(run.config));
    for (size_t i = 0; i < run.stages.size(); ++i) {
      const SegmentConfig& config = run.stages[i].config;
      if (i > 0 && unchanged(run.stages[i - 1].config, config)) continue;
      text += "\n\nfrom " + std::to_string(config.from_step) + " " + start_key(config.start) +
              "\n" + recipe(config);
    }
    return text;
  };
  return !a.stages.empty() && a.seeds == b.seeds && key(a) == key(b);
}

std::string optimizer_name(const OptimizerConfig& optimizer) {
  return kind_title(optimizer.kind) + " lr=" + number_text(optimizer.learning_rate());
}

std::vector<SwitchGroup> switch_groups(const std::vector<Result>& results, Measure chosen_by,
                                       Split chosen_on) {
  std::vector<SwitchGroup> groups;
  std::vector<std::string> keys;                        // of the groups
  std::vector<std::vector<std::string>> variants_keys;  // of their variants
  std::vector<std::string> paths;                       // of the runs, to their end
  std::vector<WholeRun> whole;
  for (const Result& run : results) {
    paths.push_back(run.stages.empty() ? "" : path_key(run, run.stages.size()));
    if (run.stages.size() == 1)
      whole.push_back(
          {&run, run.folder + canonical(conditions(run.config)), recipe(run.config, true)});
  }
  for (const Result& run : results) {
    if (run.stages.size() < 2) continue;
    const SegmentConfig& after = run.stages.back().config;
    const SegmentConfig& before = run.stages[run.stages.size() - 2].config;
    const std::string key =
        path_key(run, run.stages.size() - 1) + "\n\nto " + std::to_string(after.from_step);
    const auto found = std::ranges::find(keys, key);
    const size_t at = found - keys.begin();
    if (found == keys.end()) {
      keys.push_back(key);
      groups.push_back({run.folder, before, place_of(before, after.from_step), {}, {}, {}});
      variants_keys.emplace_back();
    }
    SwitchGroup& group = groups[at];
    if (unchanged(before, after)) {
      add(run, group.resumed);
      continue;
    }
    const std::string variant_key = recipe(after, true) + "\n" + start_key(after.start);
    auto& known = variants_keys[at];
    const size_t i = std::ranges::find(known, variant_key) - known.begin();
    if (i == known.size()) {
      known.push_back(variant_key);
      SwitchVariant variant;
      variant.same_optimizer = recipe(after, true) == recipe(before, true);
      variant.reset_only = schedule_goes_on(before, after) && after.start.state == "reset" &&
                           recipe(after) == recipe(before);
      variant.start = after.start;
      group.variants.push_back(std::move(variant));
    }
    add(run, group.variants[i].settings);
  }
  for (size_t at = 0; at < groups.size(); ++at) {
    SwitchGroup& group = groups[at];
    for (size_t i = 0; i < results.size(); ++i) {
      if (paths[i] + "\n\nto " + std::to_string(group.place.step) == keys[at])
        add(results[i], group.uninterrupted);
    }
    find_from_start(whole, group);
    for (SwitchVariant& variant : group.variants) {
      sort_by_rate(variant.settings);
      variant.best = best_of(variant.settings, chosen_by, chosen_on);
      variant.best_from_start = best_of(variant.from_start, chosen_by, chosen_on);
    }
    std::ranges::stable_sort(group.variants, std::greater(), &SwitchVariant::same_optimizer);
    name_variants(group);
  }
  std::erase_if(groups, [](const SwitchGroup& group) { return group.variants.empty(); });
  return groups;
}

}  // namespace draftlab

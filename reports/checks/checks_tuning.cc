// Fairness checks: how the settings of the arms were chosen.
#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "base/number_text.h"
#include "record/option.h"
#include "reports/checks/checks.h"
#include "reports/text/words.h"

namespace draftlab {
namespace {

// A setting counts as tried once a run of it came to an end of its own.
int64_t tried(const Arm& arm) {
  return std::count_if(arm.tried().begin(), arm.tried().end(), [](const Setting& setting) {
    return !setting.finished.empty() || setting.diverged > 0;
  });
}

// Of its trials those by which the tuning itself extended its grid, by one rule for every arm.
int64_t extensions(const Study& study, const Arm& arm) {
  return std::ranges::count_if(study.plan.decisions, [&](const TuningDecision& decision) {
    return decision.arm == arm.name && !decision.extended.empty();
  });
}

const SweptOption* swept_rate(const Arm& arm) {
  for (const SweptOption& option : arm.swept) {
    if (option.key == "learning_rate" && option.values.size() > 1) return &option;
  }
  return nullptr;
}

std::vector<double> numbers(const SweptOption& option) {
  std::vector<double> values;
  for (const Json& value : option.values) values.push_back(json_number(value, option.key));
  return values;
}

// "2 settings of AdamW, 3 settings of Muon and NorMuon"
template <typename Count>
std::string shares(const std::map<Count, std::vector<std::string>>& arms_by,
                   std::string (*text)(Count)) {
  std::vector<std::string> parts;
  for (const auto& [count, arms] : arms_by) parts.push_back(text(count) + " of " + joined(arms));
  return listed(parts);
}

std::string settings_text(int64_t n) { return counted(n, "setting"); }

// The acceptance length of `a` minus that of `b` at the last evaluation of the tuning split: over
// the prompts, each with its mean over the seeds that both finished. n is 0 where there are no
// counts of prompts.
Estimate over_prompts(const Setting& a, const Setting& b) {
  std::map<size_t, std::vector<double>> gaps;  // by prompt
  for (const Result* run : a.finished) {
    for (const Result* other : b.finished) {
      if (!(run->seeds == other->seeds) || run->tuning.empty() || other->tuning.empty()) continue;
      const EvaluationRow &x = run->tuning.back(), &y = other->tuning.back();
      if (x.prompt_blocks.size() != y.prompt_blocks.size()) continue;
      for (size_t i = 0; i < x.prompt_blocks.size(); ++i) {
        if (x.prompt_blocks[i] == 0 || y.prompt_blocks[i] == 0) continue;
        gaps[i].push_back(
            static_cast<double>(x.prompt_matches[i]) / static_cast<double>(x.prompt_blocks[i]) -
            static_cast<double>(y.prompt_matches[i]) / static_cast<double>(y.prompt_blocks[i]));
      }
    }
  }
  std::vector<double> means;
  for (const auto& [prompt, of_seeds] : gaps) means.push_back(mean_of(of_seeds));
  return estimate(means);
}

// The setting that differs from the chosen one in `option` alone, by the next value there is; null
// where none of them has a result.
const Setting* beside_the_chosen(const Arm& arm, const SweptOption& option) {
  const auto others_of = [&](const Setting& setting) {
    std::string text;
    for (const auto& [key, value] : flatten(to_json(setting.optimizer)))
      if (key != option.key) text += key + "=" + canonical(value) + "\n";
    return text;
  };
  const auto value_of = [&](const Setting& setting) {
    return json_number(*setting.optimizer.find(option.key), option.key);
  };
  const Setting& best = *arm.chosen_trial();
  const Setting* beside = nullptr;
  for (const Setting& setting : arm.tried()) {
    if (&setting == &best || setting.finished.empty() || others_of(setting) != others_of(best))
      continue;
    const auto distance = [&](const Setting& one) {
      return std::abs(value_of(one) - value_of(best));
    };
    if (beside == nullptr || distance(setting) < distance(*beside)) beside = &setting;
  }
  return beside;
}

bool is_ahead_of_all(const Summary& summary, const Arm& arm) {
  const auto value = [&](const Arm& one) {
    return one.chosen() == nullptr ? NAN : at_end(*one.chosen(), summary.chosen_by).estimate.mean;
  };
  return std::ranges::none_of(summary.arms, [&](const Arm& other) {
    return better(summary.chosen_by, value(other), value(arm));
  });
}

}  // namespace

Findings unequal_trials(const Study& study) {
  std::map<int64_t, std::vector<std::string>> by_count;
  double least = INFINITY, most = 0;
  std::string cheapest, dearest;
  std::vector<std::string> extended;
  for (const Arm& arm : study.summary.arms) {
    const int64_t count = tried(arm);
    if (count == 0) continue;
    const int64_t own = extensions(study, arm);
    if (own > 0) extended.push_back(arm.name + " " + counted(own, "setting"));
    by_count[count - own].push_back(arm.name);
    double seconds = 0;
    for (const Setting& setting : arm.tried()) {
      for (const Result* run : setting.runs) seconds += run->train_seconds;
    }
    if (seconds < least) cheapest = arm.name;
    if (seconds > most) dearest = arm.name;
    least = std::min(least, seconds);
    most = std::max(most, seconds);
  }
  Findings findings;
  if (by_count.size() > 1) {
    const bool far = by_count.rbegin()->first > 2 * by_count.begin()->first;
    findings.push_back({far ? Severity::kRefuse : Severity::kWarn,
                        "The arms were not tuned equally: " + shares(by_count, settings_text) +
                            " have a result; give every arm as many, since the best of more tries "
                            "is better by luck alone.",
                        {}});
    // Arms that had as many may be compared all the same.
    for (const auto& [count, arms] : by_count) findings.back().groups.push_back(arms);
  }
  if (!extended.empty()) {
    findings.push_back({Severity::kInform,
                        "The tuning extended grids whose best lay on an edge: " + joined(extended) +
                            " more. The rule is one for every arm; the best of more tries is "
                            "better by luck all the same.",
                        {}});
  }
  if (most > 2 * least) {
    findings.push_back({Severity::kInform,
                        "All runs of " + dearest + " together trained for " + seconds_text(most) +
                            ", those of " + cheapest + " for " + seconds_text(least) +
                            ": for equal time the cheaper arm could have tried more settings.",
                        {}});
  }
  return findings;
}

Findings unequal_search_spaces(const Study& study) {
  Findings findings;
  // Grids that differ by more than half a decade from end to end.
  std::map<std::string, double> decades;
  for (const Arm& arm : study.summary.arms) {
    const SweptOption* rate = swept_rate(arm);
    if (rate == nullptr) continue;
    const std::vector<double> values = numbers(*rate);
    if (values.front() > 0) decades[arm.name] = std::log10(values.back() / values.front());
  }
  const auto [narrow, wide] =
      std::minmax_element(decades.begin(), decades.end(),
                          [](const auto& a, const auto& b) { return a.second < b.second; });
  if (!decades.empty() && wide->second - narrow->second > 0.5) {
    findings.push_back({Severity::kWarn,
                        "The learning rates tried for " + wide->first + " span " +
                            fixed(wide->second, 1) + " decades, those for " + narrow->first + " " +
                            fixed(narrow->second, 1) + "; widen the narrower grid.",
                        {narrow->first, wide->first}});
  }
  // An option that one tuned arm varies and another tuned arm has but leaves alone.
  for (const Arm& arm : study.summary.arms) {
    for (const SweptOption& option : arm.swept) {
      std::vector<std::string> others;
      for (const Arm& other : study.summary.arms) {
        const bool has = other.settings.front().optimizer.has(option.key);
        const bool varies = std::any_of(
            other.swept.begin(), other.swept.end(),
            [&](const SweptOption& o) { return o.key == option.key && o.values.size() > 1; });
        if (has && !varies && other.tried().size() > 1) others.push_back(other.name);
      }
      if (others.empty()) continue;
      others.insert(others.begin(), arm.name);
      const std::string lacking = joined({others.begin() + 1, others.end()});
      findings.push_back({Severity::kWarn,
                          capitalized(option.key) + " was tuned for " + arm.name + " but not for " +
                              lacking + "; tune it for all of them or for none.",
                          others});
    }
  }
  return findings;
}

Findings best_at_the_edge(const Study& study) {
  Findings findings;
  for (const Arm& arm : study.summary.arms) {
    if (arm.all_tie()) continue;  // F36: nothing says on which side a better value may lie
    for (const SweptOption& option : arm.swept) {
      if (!option.at_edge) continue;
      const Setting* beside = beside_the_chosen(arm, option);
      const Estimate gain =
          beside == nullptr ? Estimate{} : over_prompts(*arm.chosen_trial(), *beside);
      // A lead over an arm that still gains at its edge is a lead over its grid.
      const bool climbs = study.summary.chosen_by == Measure::kAcceptanceLength &&
                          study.summary.chosen_on == Split::kTuning && gain.n > 1 && gain.low > 0;
      const bool refused = climbs && !is_ahead_of_all(study.summary, arm);
      findings.push_back(
          {refused ? Severity::kRefuse : Severity::kWarn,
           "The best setting of " + arm.name + " (" + arm.chosen_trial()->label +
               ") lies at the edge of its grid in " + option.key + " (tried " +
               option_text(option.values.front()) + " to " + option_text(option.values.back()) +
               "); " +
               (refused ? "the last step of it still gained " + signed_text(gain.mean, 3) + " (" +
                              interval_text(gain.low, gain.high, 3) + " over " +
                              counted(gain.n, "tuning prompt") +
                              "), so that nobody knows how far behind the others " + arm.name +
                              " is: extend the grid."
                        : "a better value may lie beyond: extend the grid."),
           {arm.name}});
    }
  }
  return findings;
}

Findings coarse_grid(const Study& study) {
  Findings findings;
  for (const Arm& arm : study.summary.arms) {
    const SweptOption* rate = swept_rate(arm);
    if (rate == nullptr || arm.chosen_trial() == nullptr) continue;
    const double best = arm.chosen_trial()->optimizer.learning_rate();
    std::vector<std::string> far;
    for (double value : numbers(*rate)) {
      const double factor = std::max(value, best) / std::min(value, best);
      // A neighbour has no other value between itself and the best one.
      const bool neighbour = std::ranges::none_of(numbers(*rate), [&](double between) {
        return std::min(value, best) < between && between < std::max(value, best);
      });
      if (value != best && neighbour && factor > 3) far.push_back(number_text(value));
    }
    if (far.empty()) continue;
    findings.push_back({Severity::kInform,
                        "Next to the best learning rate of " + arm.name + ", " + number_text(best) +
                            ", the grid goes on only at " + joined(far) +
                            ", more than a factor of 3 away: try one between.",
                        {arm.name}});
  }
  return findings;
}

Findings stability_limit(const Study& study) {
  Findings findings;
  for (const Arm& arm : study.summary.arms) {
    if (arm.chosen_trial() == nullptr) continue;
    for (const auto& curve : rate_curves(arm)) {
      const auto best = std::find(curve.begin(), curve.end(), arm.chosen_trial());
      if (best == curve.end() || best + 1 == curve.end()) continue;
      const bool all = std::all_of(best + 1, curve.end(),
                                   [](const Setting* setting) { return setting->diverged > 0; });
      if (!all) continue;
      findings.push_back({Severity::kInform,
                          "Every learning rate of " + arm.name + " above the best one, " +
                              number_text((*best)->optimizer.learning_rate()) +
                              ", has diverged runs: it is limited by stability, and a longer "
                              "warm-up or a lower clip might move its best value.",
                          {arm.name}});
    }
  }
  return findings;
}

Findings reported_trials(const Study& study) {
  std::vector<std::string> arms, best_of;
  for (const Arm& arm : study.summary.arms) {
    if (!arm.trials.empty() || arm.settings.size() < 2 || arm.chosen() == nullptr) continue;
    std::set<std::string> trial_seeds;
    for (const Setting& setting : arm.settings) {
      if (&setting == arm.chosen()) continue;
      for (const Result* run : setting.runs) trial_seeds.insert(seed_text(run->seeds));
    }
    const bool any_trial = std::ranges::any_of(arm.chosen()->finished, [&](const Result* run) {
      return trial_seeds.count(seed_text(run->seeds)) > 0;
    });
    if (!any_trial) continue;  // fresh seeds only
    const double sd = deciding(*arm.chosen(), study.summary.chosen_by).estimate.sd;
    arms.push_back(arm.name);
    best_of.push_back("best of " + std::to_string(arm.settings.size()) +
                      (std::isnan(sd) ? "" : ", sd " + significant(sd, 2) + " over seeds"));
  }
  if (arms.empty()) return {};
  const std::string numbers = " (" + listed(best_of) + ")";
  if (study.summary.chosen_on == Split::kHeldOut) {
    return {{Severity::kWarn,
             "The settings of " + joined(arms) +
                 " were chosen on the same held-out data that is reported here" + numbers +
                 ", which flatters the arms with more settings; give the sweep a tuning split.",
             arms}};
  }
  return {{Severity::kWarn,
           "The reported runs of " + joined(arms) + " are the trials that chose their settings" +
               numbers +
               ", so that luck with a seed counts twice; run the chosen settings again with fresh "
               "seeds and report those.",
           arms}};
}

Findings tied_settings(const Study& study) {
  const Summary& summary = study.summary;
  const MeasureKind& kind = kind_of(summary.chosen_by);
  Findings findings;
  for (const Arm& arm : summary.arms) {
    if (!arm.choice || !arm.choice->is_tie()) continue;
    const auto tied = static_cast<int64_t>(arm.choice->tied.size());
    const bool all = arm.all_tie();
    const Setting& best = *arm.chosen_trial();
    std::string text =
        (all ? "All " : "The best ") + counted(tied, "setting") + " of " + arm.name + " tie in " +
        kind.name + " (" + fixed(deciding(best, summary.chosen_by).estimate.mean, kind.decimals) +
        " on the " + (summary.chosen_on == Split::kTuning ? "tuning" : "held-out") + " split)";
    text += arm.choice->by_loss ? "; the lower loss chose " + best.label
                                : "; the loss ties too, and " + best.label + " came first";
    text += all ? ": what was chosen from says nothing about the best setting. Try values further "
                  "apart, train longer, or choose on more sequences."
                : ".";
    findings.push_back({all ? Severity::kWarn : Severity::kInform, std::move(text), {arm.name}});
  }
  return findings;
}

Findings untuned_arms(const Study& study) {
  std::vector<std::string> arms;
  for (const Arm& arm : study.summary.arms) {
    if (tried(arm) > 1) return {};  // F01 counts them against each other
    if (tried(arm) == 1) arms.push_back(arm.name);
  }
  if (arms.size() < 2) return {};
  return {{Severity::kWarn,
           "Nothing was tuned: each arm ran at one setting, so that the order of the arms may be "
           "that of their learning rates; give each a list or a range of rates.",
           arms}};
}

Findings narrow_choice(const Study& study) {
  const Summary& summary = study.summary;
  if (summary.chosen_by != Measure::kAcceptanceLength || summary.chosen_on != Split::kTuning)
    return {};
  Findings findings;
  for (const Arm& arm : summary.arms) {
    if (!arm.choice || arm.choice->is_tie()) continue;
    const Setting& best = *arm.chosen_trial();
    std::vector<const Setting*> others;
    for (const Setting& setting : arm.tried())
      if (&setting != &best) others.push_back(&setting);
    const Setting* next = best_setting(others, summary.chosen_by);
    if (next == nullptr || best.finished.empty() || next->finished.empty()) continue;
    const Estimate gap = over_prompts(best, *next);
    if (gap.n >= kFewPrompts || gap.n == 0 || gap.low > 0) continue;
    findings.push_back(
        {Severity::kWarn,
         "The setting of " + arm.name + " was chosen on " + counted(gap.n, "prompt") +
             ", which cannot tell it from the next best (" + next->label + "): the difference is " +
             signed_text(gap.mean, 3) +
             (gap.n == 1 ? "" : ", " + interval_text(gap.low, gap.high, 3) + " over prompts") +
             ". Give the tuning split more sequences.",
         {arm.name}});
  }
  return findings;
}

}  // namespace draftlab

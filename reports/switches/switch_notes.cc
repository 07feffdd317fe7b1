// What limits the comparison of a switch with the run that went on.
#include <algorithm>
#include <cmath>

#include "base/number_text.h"
#include "reports/stats/claim.h"
#include "reports/switches/switch_study.h"
#include "reports/text/words.h"

namespace draftlab {
namespace {

using Notes = std::vector<FairnessFinding>;

std::string percent(double share) { return fixed(100 * share, 0) + " %"; }

void note_place(const SwitchPlace& place, Notes& notes) {
  if (place.in_warmup()) {
    notes.push_back({Severity::kWarn,
                     "The switch lies in the warm-up, at " + percent(place.share_of_warmup()) +
                         " of it: the rate still rises behind it, for either optimizer, so that a "
                         "peak behind the switch may be the rate's as much as the optimizer's.",
                     {}});
  } else if (place.decays) {
    notes.push_back({Severity::kWarn,
                     "The switch lies in the decay of the schedule, at " + percent(place.rate) +
                         " of the peak rate: what the new optimizer would do at full rate, these "
                         "runs do not show.",
                     {}});
  }
}

void note_seeds(const SwitchGroup& group, Notes& notes) {
  const auto n = static_cast<int64_t>(group.reference().size());
  if (n == 0 || n >= kFewestSeeds) return;
  notes.push_back({Severity::kWarn,
                   n == 1 ? "One seed: differences may be chance, have no interval, and nothing is "
                            "claimed."
                          : "Two seeds: intervals are wide, and nothing is claimed.",
                   {}});
}

// Did the run that went on have as many rates to choose from?
void note_rates(const SwitchGroup& group, Split chosen_on, Notes& notes) {
  size_t own = 1;  // rates of the optimizer that goes on
  for (const SwitchVariant& variant : group.variants) {
    if (variant.same_optimizer && variant.start.state == "transfer")
      own = std::max(own, variant.settings.size() + (group.resumed.runs.empty() ? 0 : 1));
  }
  std::vector<std::string> swept, at_edge, arms;
  for (const SwitchVariant& variant : group.variants) {
    if (variant.same_optimizer || variant.settings.size() <= own) continue;
    swept.push_back(variant.name + " (" + std::to_string(variant.settings.size()) + ")");
    arms.push_back(variant.name);
  }
  if (!swept.empty()) {
    notes.push_back({Severity::kWarn,
                     "A rate was chosen behind the switch for " + joined(swept) + ", but " +
                         (own == 1 ? "none" : "among fewer") +
                         " for the optimizer that goes on: the best of several is better by luck "
                         "alone. Give it rates of its own behind the switch.",
                     arms});
  }
  for (const SwitchVariant& variant : group.variants) {
    if (variant.settings.size() < 2 || !variant.best) continue;
    if (*variant.best == 0 || *variant.best + 1 == variant.settings.size()) {
      at_edge.push_back(variant.name + " (" +
                        number_text(variant.chosen()->optimizer.learning_rate()) + ")");
    }
  }
  if (!at_edge.empty()) {
    notes.push_back({Severity::kWarn,
                     "The best rate is the smallest or largest that was tried for " +
                         joined(at_edge) + "; a better one may lie beyond.",
                     {}});
  }
  const bool chose = std::ranges::any_of(group.variants, [](const SwitchVariant& variant) {
    return variant.settings.size() > 1 &&
           std::ranges::none_of(variant.settings, [](const SwitchSetting& setting) {
             return !setting.trials.empty();
           });
  });
  if (chose && chosen_on == Split::kHeldOut) {
    notes.push_back(
        {Severity::kWarn,
         "Rates behind the switch were chosen on the held-out data that the differences "
         "are of; give the split a tuning part.",
         {}});
  }
}

// What else changed at the switch.
void note_changes(const SwitchGroup& group, const std::vector<SwitchOutcome>& outcomes,
                  Notes& notes) {
  const auto same_optimizer_has = [&](auto&& change) {
    return std::ranges::any_of(group.variants, [&](const SwitchVariant& variant) {
      return variant.same_optimizer && change(variant.start);
    });
  };
  std::vector<std::string> restarted, rewarmed;
  for (const SwitchVariant& variant : group.variants) {
    if (variant.same_optimizer) continue;
    if (variant.start.schedule_from != group.before.start.schedule_from)
      restarted.push_back(variant.name);
    if (variant.start.rewarmup > 0) rewarmed.push_back(variant.name);
  }
  if (!restarted.empty() && !same_optimizer_has([&](const StartConfig& start) {
        return start.schedule_from != group.before.start.schedule_from;
      })) {
    notes.push_back({Severity::kWarn,
                     "The schedule begins anew for " + joined(restarted) +
                         " only: their difference is one of schedules too. Add a run that restarts "
                         "it and keeps its optimizer.",
                     restarted});
  }
  if (!rewarmed.empty() &&
      !same_optimizer_has([](const StartConfig& start) { return start.rewarmup > 0; })) {
    notes.push_back({Severity::kInform,
                     "The rate rises again from 0 for " + joined(rewarmed) +
                         " only, and for no run that keeps its optimizer.",
                     rewarmed});
  }
  for (size_t i = 0; i < outcomes.size(); ++i) {
    const SwitchVariant& variant = group.variants[i];
    if (variant.same_optimizer) continue;
    const auto& setting = variant.settings.front();
    const auto& runs = setting.runs.empty() ? setting.trials : setting.runs;
    int64_t tensors = 0;
    std::string last;
    for (const TransferRow& row : runs.front()->stages.back().transfer) {
      if (row.fate != "reset" || row.tensor == last) continue;
      const auto rule_of = [&](const std::vector<Route>& table) -> std::string {
        for (const Route& route : table) {
          if (route.name == row.tensor) return route.rule;
        }
        return "";
      };
      const std::string rule = rule_of(runs.front()->config.routing);
      if (rule != rule_of(group.before.routing) || rule == "frozen") continue;
      last = row.tensor;
      ++tensors;
    }
    if (tensors == 0) continue;
    notes.push_back({Severity::kWarn,
                     variant.name + " also lost the state of " + counted(tensors, "tensor") +
                         " that the same rule updates before and behind the switch: its difference "
                         "is in part a reset's.",
                     {variant.name}});
  }
}

void note_evaluations(const SwitchGroup& group, const std::vector<SwitchOutcome>& outcomes,
                      Notes& notes) {
  for (const SwitchOutcome& outcome : outcomes) {
    const auto next = std::ranges::upper_bound(outcome.loss.steps, group.place.step);
    if (next == outcome.loss.steps.end()) continue;
    notes.push_back({Severity::kInform,
                     "The first evaluation behind the switch is " +
                         counted(*next - group.place.step, "step") +
                         " later: of what happens before it, only the size of the first update is "
                         "known.",
                     {}});
    return;
  }
}

void note_divergence(const SwitchGroup& group, Notes& notes) {
  for (const SwitchVariant& variant : group.variants) {
    for (const SwitchSetting& setting : variant.settings) {
      if (setting.diverged == 0) continue;
      const bool chosen = &setting == variant.chosen();
      notes.push_back(
          {chosen ? Severity::kRefuse : Severity::kInform,
           counted(setting.diverged, "run") + " of " + variant.name + " at rate " +
               number_text(setting.optimizer.learning_rate()) + " diverged" +
               (chosen ? ": the means of the others flatter it, and nothing is claimed." : "."),
           {variant.name}});
    }
  }
}

}  // namespace

std::vector<FairnessFinding> switch_notes(const SwitchGroup& group,
                                          const std::vector<SwitchOutcome>& outcomes,
                                          Split chosen_on) {
  Notes notes;
  note_divergence(group, notes);
  note_seeds(group, notes);
  note_rates(group, chosen_on, notes);
  note_place(group.place, notes);
  note_changes(group, outcomes, notes);
  note_evaluations(group, outcomes, notes);
  return notes;
}

}  // namespace draftlab

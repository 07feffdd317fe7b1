// Fairness checks: what came out, and what may be said of it.
#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "base/number_text.h"
#include "record/schedule.h"
#include "reports/checks/agreement.h"
#include "reports/checks/checks.h"
#include "reports/stats/claim.h"
#include "reports/study/measure.h"
#include "reports/switches/switch_group.h"
#include "reports/text/words.h"

namespace draftlab {
namespace {

std::vector<std::string> seeds_of(const std::vector<const Result*>& runs) {
  std::vector<std::string> seeds;
  for (const Result* run : runs) seeds.push_back(seed_text(run->seeds));
  std::sort(seeds.begin(), seeds.end());
  return seeds;
}

bool at_target(const Study& study, double value) {
  for (const MeasureKind& kind : measure_kinds()) {
    if (kind.key != study.plan.target.metric) continue;
    return kind.lower_is_better ? value <= study.plan.target.value
                                : value >= study.plan.target.value;
  }
  return false;
}

// A text of all that a run measured, in bits.
std::string fingerprint(const Result& run) {
  std::string text;
  for (const EvaluationRow& row : run.held_out) {
    if (row.step == 0) continue;
    text += number_text(row.loss) + ' ' + number_text(row.acceptance_length) + ' ';
  }
  return text;
}

const Arm* leader(const Summary& summary, Measure measure) {
  const Arm* best = nullptr;
  for (const Arm& arm : summary.arms) {
    if (arm.chosen() == nullptr) continue;
    const double mean = at_end(*arm.chosen(), measure).estimate.mean;
    if (std::isnan(mean)) continue;
    if (best == nullptr || better(measure, mean, at_end(*best->chosen(), measure).estimate.mean))
      best = &arm;
  }
  return best;
}

}  // namespace

Findings few_seeds(const Study& study) {
  std::vector<std::string> few, numbers;
  Agreement seeds;
  for (const Arm& arm : study.summary.arms) {
    if (arm.chosen() == nullptr) continue;
    const auto& finished = arm.chosen()->finished;
    if (static_cast<int64_t>(finished.size()) < kFewestSeeds) {
      few.push_back(arm.name);
      numbers.push_back(arm.name + " (" + std::to_string(finished.size()) + ")");
    }
    seeds.add("seeds " + joined(seeds_of(finished)), *finished.front());
  }
  Findings findings;
  if (!few.empty()) {
    findings.push_back({Severity::kRefuse,
                        "Fewer than " + kFewestSeedsInWords +
                            " finished seeds: " + joined(numbers) +
                            ". Differences may be chance, and none is claimed; run " +
                            kFewestSeedsInWords + " seeds or more.",
                        few});
  }
  if (!seeds.holds()) {
    findings.push_back({Severity::kWarn,
                        "The chosen settings did not finish the same seeds (" + seeds.text() +
                            "); only seeds in common are compared. Run the missing ones.",
                        seeds.outliers()});
  }
  return findings;
}

Findings unfinished_runs(const Study& study) {
  std::vector<const Result*> missing, early;
  for (const Result& run : study.results) {
    if (!run.done() && !run.diverged() && !run.dropped()) missing.push_back(&run);
    const bool whole = run.steps == run.config.training.steps && !run.held_out.empty() &&
                       run.held_out.back().step == run.steps;
    if (run.done() && !whole) early.push_back(&run);
  }
  Findings findings;
  if (!early.empty()) {
    findings.push_back(
        {Severity::kRefuse,
         runs_text(early) + " ended at step " + grouped(early.front()->steps) + " of " +
             grouped(early.front()->config.training.steps) +
             ", or without the evaluation there, although recorded as done; a run cut "
             "short must not be in a mean. Remove its segment's folder and resume.",
         arms_of(early)});
  }
  if (!missing.empty()) {
    findings.push_back(
        {Severity::kWarn,
         counted(static_cast<int64_t>(missing.size()), "run") + " of " +
             std::to_string(study.results.size()) + (missing.size() == 1 ? " has" : " have") +
             " no result (" + runs_text(missing) +
             "; see Excluded runs), so the numbers are preliminary; draftlab resume runs what is "
             "missing.",
         arms_of(missing)});
  }
  return findings;
}

Findings missing_evaluations(const Study& study) {
  if (!std::isnan(budget_seconds(study.plan))) return {};  // more steps, more evaluations
  Agreement counts;
  for (const Result& run : study.results) {
    if (run.done())
      counts.add(counted(static_cast<int64_t>(run.held_out.size()), "evaluation"), run);
  }
  if (counts.holds()) return {};
  return {{Severity::kWarn,
           "Finished runs were not evaluated equally often: " + counts.text() +
               "; who is looked at more often reaches a target sooner. Evaluate all alike.",
           counts.outliers()}};
}

Findings unreached_target(const Study& study) {
  Findings findings;
  std::vector<const Result*> last_only;
  for (const Arm& arm : study.summary.arms) {
    if (arm.chosen() == nullptr) continue;
    const TargetCount& target = arm.chosen()->target;
    if (target.reached > 0 && target.reached < target.of) {
      findings.push_back({Severity::kInform,
                          arm.name + " reached the target in " + std::to_string(target.reached) +
                              " of " + std::to_string(target.of) +
                              " runs: its time is a median in which the others count as infinite, "
                              "and there is no mean.",
                          {arm.name}});
    }
    for (const Result* run : arm.chosen()->finished) {
      const bool reached = run->steps_to_target && std::isfinite(*run->steps_to_target);
      if (!reached && at_target(study, run->final(Split::kHeldOut, study.summary.chosen_by)))
        last_only.push_back(run);
    }
  }
  if (!last_only.empty()) {
    findings.push_back(
        {Severity::kInform,
         runs_text(last_only) +
             " came to the target in the last evaluation alone, which counts as not "
             "reached: two in a row are needed. Evaluate more often towards the end.",
         arms_of(last_only)});
  }
  return findings;
}

Findings target_in_the_decay(const Study& study) {
  if (study.summary.arms.empty()) return {};
  const Arm& reference = study.summary.arms[study.summary.reference];
  if (reference.chosen() == nullptr) return {};
  const SegmentConfig& config = reference.chosen()->finished.front()->config;
  const int64_t horizon = config.training.steps;
  const double at = reference.chosen()->target.steps;
  constexpr double kDown = 0.1;  // of the peak
  const Schedule schedule = schedule_of(config.training, config.start.schedule_from);
  if (!std::isfinite(at) || !schedule.is_below(kDown, std::llround(at))) return {};
  std::vector<std::string> others;
  for (const Arm& arm : study.summary.arms) {
    if (example_run(arm).config.training.steps != horizon) others.push_back(arm.name);
  }
  if (others.empty()) return {};
  return {{Severity::kWarn,
           reference.name + " reaches the target only where its schedule has come down (step " +
               significant(at, 3) + " of " + grouped(horizon) + "), and " + joined(others) +
               " ends at another step: a speed-up at this level is one of schedules. Give all arms "
               "one horizon.",
           others}};
}

Findings divergence(const Study& study) {
  Findings findings;
  std::vector<const Result*> not_numbers, worse;
  for (const Result& run : study.results) {
    if (!run.done() || run.held_out.empty()) continue;
    const bool finite = std::ranges::all_of(run.held_out, [](const EvaluationRow& row) {
      return std::isfinite(row.loss) && std::isfinite(row.acceptance_length);
    });
    if (!finite) not_numbers.push_back(&run);
    if (run.last(Split::kHeldOut, Measure::kLoss) > run.first(Split::kHeldOut, Measure::kLoss))
      worse.push_back(&run);
  }
  if (!not_numbers.empty()) {
    findings.push_back({Severity::kRefuse,
                        "Held-out numbers of " + runs_text(not_numbers) +
                            " are not all finite although recorded as done; look at the "
                            "log, lower the rate.",
                        arms_of(not_numbers)});
  }
  for (const Arm& arm : study.summary.arms) {
    std::vector<const Result*> diverged;
    bool in_chosen = false;
    int64_t runs = 0;
    for (const Setting& setting : arm.settings) {
      for (const Result* run : setting.runs) {
        ++runs;
        if (!run->diverged()) continue;
        diverged.push_back(run);
        in_chosen |= &setting == arm.chosen();
      }
    }
    if (diverged.empty()) continue;
    const std::string count = counted(static_cast<int64_t>(diverged.size()), "run") + " of " +
                              std::to_string(runs) + " of " + arm.name + " diverged (" +
                              runs_text(diverged) + ")";
    if (in_chosen) {
      findings.push_back({Severity::kRefuse,
                          count +
                              ", also at the setting that is compared: the mean of those that are "
                              "left flatters it. Try a lower rate or a longer warm-up.",
                          {arm.name}});
    } else {
      findings.push_back({Severity::kInform,
                          count + "; a setting with fewer diverged runs is preferred to one with "
                                  "more, whatever its mean.",
                          {arm.name}});
    }
  }
  if (!worse.empty()) {
    findings.push_back(
        {Severity::kWarn,
         runs_text(worse) + " ended with a higher held-out loss than it started with (" +
             significant(worse.front()->last(Split::kHeldOut, Measure::kLoss), 4) + " after " +
             significant(worse.front()->first(Split::kHeldOut, Measure::kLoss), 4) +
             "); the rate is too high.",
         arms_of(worse)});
  }
  return findings;
}

Findings identical_runs(const Study& study) {
  std::set<std::string> arms_that_tie;
  for (const Arm& arm : study.summary.arms)
    if (arm.all_tie()) arms_that_tie.insert(arm.name);
  std::map<std::string, const Result*> first;
  std::vector<const Result*> copies;
  const Result* of = nullptr;
  for (const Result& run : study.results) {
    if (!run.done() || run.held_out.size() < 2) continue;
    const auto [entry, added] = first.try_emplace(fingerprint(run), &run);
    // One training that stands in the plan twice trains once, and a resumed run repeats itself.
    if (added || entry->second->segments == run.segments || same_training(*entry->second, run))
      continue;
    if (arms_that_tie.contains(run.arm) && entry->second->arm == run.arm &&
        entry->second->seeds == run.seeds)
      continue;  // F36 has the reason
    if (of == nullptr) of = entry->second;
    copies.push_back(&run);
  }
  if (copies.empty()) return {};
  std::vector<const Result*> all = copies;
  all.push_back(of);
  return {{Severity::kRefuse,
           runs_text(copies) + " repeated the numbers of " + of->run +
               " at every evaluation, bit for bit, although another seed or option was asked for: "
               "one of them does not reach the training. Seeds that repeat each other are no "
               "evidence.",
           arms_of(all)}};
}

Findings disagreeing_measures(const Study& study) {
  const Arm* by_loss = leader(study.summary, Measure::kLoss);
  const Arm* by_length = leader(study.summary, Measure::kAcceptanceLength);
  if (by_loss == by_length || by_loss == nullptr || by_length == nullptr) return {};
  const auto value = [](const Arm* arm, Measure measure) {
    return fixed(at_end(*arm->chosen(), measure).estimate.mean, kind_of(measure).decimals);
  };
  return {{Severity::kInform,
           "Loss and acceptance length put different arms first: " + by_loss->name +
               " has the lowest loss (" + value(by_loss, Measure::kLoss) + "), " + by_length->name +
               " the highest acceptance length (" + value(by_length, Measure::kAcceptanceLength) +
               "). Drafting speed follows the acceptance length.",
           {by_loss->name, by_length->name}}};
}

Findings no_target(const Study& study) {
  if (!study.plan.target.metric.empty()) return {};
  Agreement targets;
  for (const Result& run : study.results) {
    for (const Source& source : study.sources) {
      if (source.label == run.folder) targets.add(target_text(source.plan.target), run);
    }
  }
  if (!targets.holds()) {
    return {{Severity::kWarn,
             "The folders fix different targets: " + targets.text() +
                 "; a level that not all runs had from the start is no target, so no time to "
                 "target is reported. Report folders with one target together.",
             {}}};
  }
  return {{Severity::kWarn,
           "The plan fixes no target, so no time to target is reported, and one picked from these "
           "curves would be chosen after the fact. Put a target into the next sweep.",
           {}}};
}

Findings one_budget(const Study& study) {
  std::set<int64_t> budgets;
  std::set<std::string> drafters;
  for (const Result& run : study.results) {
    budgets.insert(run.config.training.steps);
    drafters.insert(canonical(to_json(run.config.drafter)));
  }
  if (budgets.size() != 1 || drafters.size() != 1) return {};
  return {{Severity::kInform,
           "All runs are of one budget, " + grouped(*budgets.begin()) +
               " steps, and one drafter: nothing here says how a difference grows or shrinks "
               "beyond them.",
           {}}};
}

Findings below_baseline(const Study& study) {
  if (!study.summary.baselines) return {};
  const double table = study.summary.baselines->bigram_acceptance_length;
  std::vector<std::string> arms, said;
  for (const Arm& arm : study.summary.arms) {
    if (arm.chosen() == nullptr) continue;
    const double length = at_end(*arm.chosen(), Measure::kAcceptanceLength).estimate.mean;
    if (!(length < table)) continue;
    arms.push_back(arm.name);
    said.push_back(arm.name + " (" + fixed(length, 3) + ")");
  }
  if (arms.empty()) return {};
  const bool all = arms.size() == study.summary.arms.size();
  return {{Severity::kWarn,
           (all ? "No arm is above a bigram table of the training tokens, which accepts "
                : "Below a bigram table of the training tokens, which accepts ") +
               fixed(table, 3) + (all ? ": " : ", stay ") + joined(said) +
               "; a drafter that a table beats has not learned to draft yet, and an order among "
               "such says little about one that has. Train longer, or on more sequences.",
           arms}};
}

}  // namespace draftlab

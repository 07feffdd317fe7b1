#include "reports/page/answer.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "base/number_text.h"
#include "reports/study/comparison.h"
#include "reports/text/words.h"

namespace draftlab {
namespace {

// Arms with a number, best first; earlier in the sweep where they tie.
std::vector<const Arm*> ranking(const Summary& summary, Measure measure, SampleOf of) {
  std::vector<const Arm*> arms;
  for (const Arm& arm : summary.arms) {
    if (arm.chosen() == nullptr || arm.copy_of) continue;
    if (!std::isnan(of(*arm.chosen(), measure).estimate.mean)) arms.push_back(&arm);
  }
  std::stable_sort(arms.begin(), arms.end(), [&](const Arm* a, const Arm* b) {
    return better(measure, of(*a->chosen(), measure).estimate.mean,
                  of(*b->chosen(), measure).estimate.mean);
  });
  return arms;
}

std::string value_text(const Arm& arm, Measure measure, SampleOf of) {
  const Estimate& estimate = of(*arm.chosen(), measure).estimate;
  return fixed(estimate.mean, kind_of(measure).decimals) + (estimate.n == 1 ? " (" : " (mean of ") +
         counted(estimate.n, "seed") + ")";
}

// What keeps two arms from being compared; null: nothing. With one arm for both: what keeps it out
// of every comparison.
const FairnessFinding* refusal_of(const Study& study, const Arm& a, const Arm& b, View view) {
  for (const FairnessFinding& finding : study.findings) {
    // An arm that differs from most may still be compared with those that differ as it does.
    if (&a == &b && !finding.groups.empty()) continue;
    if (refuses(finding, a.name, b.name, view == View::kEqualSeconds)) return &finding;
  }
  return nullptr;
}

// Arms that may all be compared with each other, best first.
std::vector<std::vector<const Arm*>> classes_of(const Study& study,
                                                const std::vector<const Arm*>& arms, View view) {
  std::vector<std::vector<const Arm*>> classes;
  for (const Arm* arm : arms) {
    const auto fits = [&](const std::vector<const Arm*>& others) {
      return std::ranges::all_of(others, [&](const Arm* other) {
        return refusal_of(study, *arm, *other, view) == nullptr;
      });
    };
    const auto found = std::ranges::find_if(classes, fits);
    if (found == classes.end()) {
      classes.push_back({arm});
    } else {
      found->push_back(arm);
    }
  }
  return classes;
}

// What is wrong, without what to do about it, which the checks say just above.
std::string first_clause(const std::string& sentence) {
  const size_t end = sentence.find("; ");
  return end == std::string::npos ? sentence : sentence.substr(0, end) + ".";
}

// `arms` best first. The reason is told once, where several sentences have the same.
std::string no_winner(std::vector<const Arm*> arms, const FairnessFinding& why, Measure measure,
                      SampleOf of, std::set<std::string>& told) {
  constexpr size_t kMostNamed = 6;
  const size_t others = arms.size() > kMostNamed ? arms.size() - kMostNamed : 0;
  arms.resize(arms.size() - others);
  if (others == 0) std::ranges::sort(arms);  // as in the sweep
  std::vector<std::string> values;
  for (const Arm* arm : arms) values.push_back(value_text(*arm, measure, of) + " for " + arm->name);
  if (others > 0)
    values.push_back("worse for " + counted(static_cast<int64_t>(others), "other arm"));
  return "no winner is named (" + why.id + ")" +
         (told.insert(why.sentence).second ? ": " + first_clause(why.sentence) : ".") + " The " +
         kind_of(measure).name + " is " + joined(values) + ".";
}

// Of a class of arms, best first.
std::string leader_sentence(const Study& study, const std::vector<const Arm*>& fair,
                            Measure measure, View view) {
  const Summary& summary = study.summary;
  const MeasureKind& kind = kind_of(measure);
  const SampleOf of = view == View::kEqualSeconds ? at_equal_seconds : at_end;
  const Arm& leader = *fair.front();
  const Arm* reference = &summary.arms[summary.reference];
  std::string text = leader.name + " has the " + (kind.lower_is_better ? "lowest " : "highest ") +
                     kind.name + ", " + value_text(leader, measure, of);
  // Against the reference, and against the next best.
  const std::vector<Comparison> all = comparisons(study, measure, view);
  const bool to_reference =
      reference != &leader && std::find(fair.begin(), fair.end(), reference) != fair.end();
  if (to_reference) text += ": " + comparison_text(comparison_of(all, leader, *reference), measure);
  if (fair[1] != reference) {
    text += (to_reference ? "; " : ": ") +
            comparison_text(comparison_of(all, leader, *fair[1]), measure);
  }
  return text;
}

std::string names_of(std::vector<const Arm*> arms) {
  std::ranges::sort(arms);  // as in the sweep
  std::vector<std::string> names;
  for (const Arm* arm : arms) names.push_back(arm->name);
  return joined(names);
}

std::string measure_sentence(const Study& study, Measure measure, View view,
                             std::set<std::string>& told) {
  const Summary& summary = study.summary;
  const MeasureKind& kind = kind_of(measure);
  const SampleOf of = view == View::kEqualSeconds ? at_equal_seconds : at_end;
  const auto when = [&](const Arm* arm) {
    if (view == View::kEqualSeconds) {
      return "fter " + seconds_text(summary.equal_seconds) +
             " of training, when the fastest run ends, ";
    }
    if (const double budget = budget_seconds(study.plan); !std::isnan(budget))
      return "fter " + seconds_text(budget) + " of training each, at the end of its schedule, ";
    const Result& run = arm == nullptr ? study.results.front() : example_run(*arm);
    return "fter " + grouped(run.config.training.steps) + " steps, ";
  };
  const std::vector<const Arm*> arms = ranking(summary, measure, of);
  if (arms.empty()) return "A" + when(nullptr) + "no finished run has a number yet.";
  if (arms.size() == 1) {
    return "A" + when(arms[0]) + "the " + kind.name + " of " + arms[0]->name + " is " +
           value_text(*arms[0], measure, of) + "; no other arm has a number.";
  }
  std::vector<std::vector<const Arm*>> classes = classes_of(study, arms, view);
  std::erase_if(classes, [](const auto& one) { return one.size() < 2; });
  if (classes.empty()) {
    const FairnessFinding* why = nullptr;
    for (size_t i = 0; i < arms.size() && why == nullptr; ++i) {
      why = refusal_of(study, *arms[i], *arms[i], view);
      if (why == nullptr && i > 0) why = refusal_of(study, *arms[0], *arms[i], view);
    }
    return "A" + when(arms[0]) + no_winner(arms, *why, measure, of, told);
  }
  std::string text;
  for (const auto& fair : classes) {
    text += text.empty() ? "" : ". ";
    text += classes.size() > 1 ? "Of " + names_of(fair) + ", a" : "A";
    text += when(fair[0]) + leader_sentence(study, fair, measure, view);
  }
  std::vector<std::string> left_out;
  for (const Arm* arm : arms) {
    const bool in = std::ranges::any_of(
        classes, [&](const auto& fair) { return std::ranges::count(fair, arm) > 0; });
    if (in) continue;
    const FairnessFinding* why = refusal_of(study, *arm, *arm, view);
    if (why == nullptr) why = refusal_of(study, *arm, *classes[0][0], view);
    left_out.push_back(arm->name + (why == nullptr ? "" : " (" + why->id + ")"));
  }
  if (!left_out.empty()) text += ". Checks leave out " + joined(left_out);
  return text + ".";
}

std::string target_sentence(const Summary& summary, const TargetLevel& target) {
  std::string text;
  for (const Arm& arm : summary.arms) {
    if (arm.chosen() == nullptr) continue;
    const TargetCount& count = arm.chosen()->target;
    const std::string share = std::to_string(count.reached) + " of " + std::to_string(count.of);
    text += (text.empty() ? " was reached by " : "; by ") + arm.name + " in " +
            (text.empty() ? share + " runs" : share);
    if (std::isfinite(count.steps)) {
      text += " (median " + significant(count.steps, 3) + " steps, " + seconds_text(count.seconds) +
              ")";
    }
  }
  if (text.empty()) return "No run has finished yet.";
  return capitalized(target_text(target)) + text + ".";
}

// The arms whose choice of a setting rests on nothing; "" where there is none.
std::string tie_sentence(const Study& study) {
  std::vector<std::string> arms;
  for (const Arm& arm : study.summary.arms) {
    if (arm.all_tie()) arms.push_back(arm.name);
  }
  if (arms.empty()) return "";
  return "All settings of " + joined(arms) + " tie in " + kind_of(study.summary.chosen_by).name +
         ", by which they were to be chosen (F36): nothing says that " +
         (arms.size() == 1 ? "it is" : "they are") + " shown at a good one.";
}

// Runs that diverged at what is shown of each arm, the chosen setting or all of them; "" where none
// did. No mean holds them, so that an arm looks as good as its luckier seeds.
std::string divergence_sentence(const Summary& summary) {
  std::vector<std::string> parts;
  for (const Arm& arm : summary.arms) {
    int64_t diverged = 0, runs = 0;
    for (const Setting& setting : arm.settings) {
      if (arm.chosen() != nullptr && arm.chosen() != &setting) continue;
      diverged += setting.diverged;
      runs += static_cast<int64_t>(setting.runs.size());
    }
    if (diverged == 0) continue;
    parts.push_back(std::to_string(diverged) + " of " + counted(runs, "run") + " of " + arm.name +
                    (arm.chosen() == nullptr ? ", which therefore has no number" : ""));
  }
  if (parts.empty()) return "";
  return "Diverged: " + listed(parts) + ". The means are of the others.";
}

// Arms that are one training under two names; "" where there are none.
std::string copies_sentence(const Summary& summary) {
  std::vector<std::string> parts;
  for (const Arm& arm : summary.arms) {
    if (arm.copy_of) parts.push_back(arm.name + " of " + summary.arms[*arm.copy_of].name);
  }
  if (parts.empty()) return "";
  return "Bit-equal copies, which are a check and no arms of their own: " + listed(parts) + ".";
}

// What each arm trains on, where that differs; else "".
std::string losses_sentence(const Study& study) {
  std::vector<std::pair<std::string, std::vector<std::string>>> arms_of;  // by loss
  for (const Result& run : study.results) {
    const std::string loss = loss_text(run.config.training.loss);
    auto group = std::ranges::find(arms_of, loss, [](const auto& each) { return each.first; });
    if (group == arms_of.end()) group = arms_of.insert(group, {loss, {}});
    if (std::ranges::count(group->second, run.arm) == 0) group->second.push_back(run.arm);
  }
  if (arms_of.size() < 2) return "";
  std::vector<std::string> parts;
  for (const auto& [loss, arms] : arms_of) parts.push_back(joined(arms) + " on " + loss);
  return "Not all arms train on one loss: " + listed(parts) +
         ". Held-out loss and acceptance are the same measures for all of them.";
}

}  // namespace

std::vector<Statement> answer(const Study& study) {
  const Summary& summary = study.summary;
  std::vector<Statement> statements;
  if (study.results.empty()) return statements;
  if (const std::string losses = losses_sentence(study); !losses.empty())
    statements.push_back({"Training loss", losses});
  // What takes the meaning from an order of the arms is read before it.
  for (const FairnessFinding& finding : study.findings) {
    if (finding.id == "F37" || finding.id == "F39")
      statements.push_back({"Speaks against", finding.sentence});
  }
  std::set<std::string> told;
  std::vector<Measure> measures = {Measure::kAcceptanceLength, Measure::kLoss};
  if (summary.chosen_by == Measure::kLoss) std::swap(measures[0], measures[1]);
  for (Measure measure : measures) {
    const std::string topic = capitalized(kind_of(measure).name);
    statements.push_back(
        {topic + (std::isnan(budget_seconds(study.plan)) ? " at equal steps" : " at equal seconds"),
         measure_sentence(study, measure, View::kEqualSteps, told)});
    if (std::isnan(summary.equal_seconds)) continue;
    statements.push_back(
        {topic + " at equal seconds", measure_sentence(study, measure, View::kEqualSeconds, told)});
  }
  if (const std::string text = copies_sentence(summary); !text.empty())
    statements.push_back({"Copies", text});
  if (const std::string text = divergence_sentence(summary); !text.empty())
    statements.push_back({"Divergence", text});
  if (const std::string text = tie_sentence(study); !text.empty())
    statements.push_back({"Choice of settings", text});
  if (!study.plan.target.metric.empty()) {
    statements.push_back({"Time to target", target_sentence(summary, study.plan.target)});
  }
  return statements;
}

}  // namespace draftlab

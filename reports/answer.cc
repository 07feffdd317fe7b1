#include "reports/answer.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "base/number_text.h"
#include "reports/comparison.h"

namespace draftlab {
namespace {

// Arms with a number, best first; earlier in the sweep where they tie.
std::vector<const Arm*> ranking(const Summary& summary, Measure measure, SampleOf of) {
  std::vector<const Arm*> arms;
  for (const Arm& arm : summary.arms) {
    if (arm.chosen() == nullptr) continue;
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

// What keeps `arm` out of every comparison; null: nothing.
const FairnessFinding* refusal_of(const Study& study, const Arm& arm, View view) {
  for (const FairnessFinding& finding : study.findings) {
    if (refuses(finding, arm.name, arm.name, view == View::kEqualSeconds)) return &finding;
  }
  return nullptr;
}

// `arms` best first. The reason is told once, where several sentences have the same.
std::string no_winner(std::vector<const Arm*> arms, const FairnessFinding& why, Measure measure,
                      SampleOf of, std::set<std::string>& told) {
  constexpr size_t kMostNamed = 6;
  const size_t others = arms.size() > kMostNamed ? arms.size() - kMostNamed : 0;
  arms.resize(arms.size() - others);
  if (others == 0) std::ranges::sort(arms, {}, &Arm::look);
  std::vector<std::string> values;
  for (const Arm* arm : arms) values.push_back(value_text(*arm, measure, of) + " for " + arm->name);
  if (others > 0)
    values.push_back("worse for " + counted(static_cast<int64_t>(others), "other arm"));
  return "no winner is named (" + why.id + ")" +
         (told.insert(why.sentence).second ? ": " + why.sentence : ".") + " The " +
         kind_of(measure).name + " is " + joined(values) + ".";
}

std::string leader_sentence(const Study& study, Measure measure, View view, const std::string& when,
                            std::set<std::string>& told) {
  const Summary& summary = study.summary;
  const MeasureKind& kind = kind_of(measure);
  const SampleOf of = view == View::kEqualSeconds ? at_equal_seconds : at_end;
  std::vector<const Arm*> arms = ranking(summary, measure, of);
  if (arms.empty()) return when + ", no finished run has a " + kind.name + " yet.";
  if (arms.size() == 1) {
    return when + ", " + arms[0]->name + " has a " + kind.name + " of " +
           value_text(*arms[0], measure, of) + "; no other arm has finished.";
  }
  std::vector<const Arm*> fair;
  std::vector<std::string> left_out;
  const FairnessFinding* why = nullptr;
  for (const Arm* arm : arms) {
    const FairnessFinding* refusal = refusal_of(study, *arm, view);
    if (refusal == nullptr) {
      fair.push_back(arm);
      continue;
    }
    if (why == nullptr) why = refusal;
    left_out.push_back(arm->name + " (" + refusal->id + ")");
  }
  if (fair.size() < 2) return when + ", " + no_winner(arms, *why, measure, of, told);
  const Arm& leader = *fair.front();
  const Arm* reference = &summary.arms[summary.reference];
  std::string text = when + ", " + leader.name + " has the " +
                     (kind.lower_is_better ? "lowest " : "highest ") + kind.name + ", " +
                     value_text(leader, measure, of);
  // Against the reference, and against the next best.
  const std::vector<Comparison> all = comparisons(study, measure, view);
  const bool to_reference =
      reference != &leader && std::find(fair.begin(), fair.end(), reference) != fair.end();
  if (to_reference) text += ": " + comparison_text(comparison_of(all, leader, *reference), measure);
  if (fair[1] != reference) {
    text += (to_reference ? "; " : ": ") +
            comparison_text(comparison_of(all, leader, *fair[1]), measure);
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

}  // namespace

std::vector<Statement> answer(const Study& study) {
  const Summary& summary = study.summary;
  std::vector<Statement> statements;
  const int64_t steps = study.results.empty() ? 0 : study.results.front().config.training.steps;
  std::set<std::string> told;
  const std::string at_steps = "After " + grouped(steps) + " steps";
  const std::string at_time =
      "After " + seconds_text(summary.equal_seconds) + " of training, when the fastest run ends";
  for (Measure measure : {Measure::kAcceptanceLength, Measure::kLoss}) {
    const std::string topic = capitalized(kind_of(measure).name);
    statements.push_back({topic + " at equal steps",
                          leader_sentence(study, measure, View::kEqualSteps, at_steps, told)});
    if (std::isnan(summary.equal_seconds)) continue;
    statements.push_back({topic + " at equal seconds",
                          leader_sentence(study, measure, View::kEqualSeconds, at_time, told)});
  }
  if (!study.plan.target.metric.empty()) {
    statements.push_back({"Time to target", target_sentence(summary, study.plan.target)});
  }
  return statements;
}

std::string signed_text(double value, int decimals) {
  if (std::isnan(value)) return "NaN";
  const std::string digits = fixed(std::abs(value), decimals);
  if (digits.find_first_not_of("0.") == std::string::npos) return digits;
  return (value < 0 ? "\xE2\x88\x92" : "+") + digits;
}

std::string interval_text(const Estimate& estimate, int decimals) {
  const auto bound = [&](double value) {
    const std::string text = signed_text(value, decimals);
    return text.starts_with('+') ? text.substr(1) : text;
  };
  return bound(estimate.low) + " to " + bound(estimate.high);
}

std::string joined(std::vector<std::string> words) {
  constexpr size_t kMost = 8;
  if (words.size() > kMost) {
    const std::string more = grouped(static_cast<long long>(words.size() - kMost + 2)) + " more";
    words.resize(kMost - 2);
    words.push_back(more);
  }
  std::string text;
  for (size_t i = 0; i < words.size(); ++i) {
    if (i > 0) text += i + 1 == words.size() ? " and " : ", ";
    text += words[i];
  }
  return text;
}

std::string listed(const std::vector<std::string>& parts) {
  std::string text;
  for (const std::string& part : parts) text += (text.empty() ? "" : "; ") + part;
  return text;
}

std::string counted(int64_t n, const std::string& noun) {
  return grouped(n) + " " + noun + (n == 1 ? "" : "s");
}

std::string capitalized(std::string text) {
  if (!text.empty() && text[0] >= 'a' && text[0] <= 'z') text[0] += 'A' - 'a';
  return text;
}

std::string seconds_text(double seconds) {
  if (!std::isfinite(seconds)) return number_text(seconds) + " s";
  if (seconds < 10) return significant(seconds, 2) + " s";
  if (seconds < 100) return fixed(seconds, 1) + " s";
  return grouped(std::llround(seconds)) + " s";
}

std::string target_text(const TargetLevel& target) {
  for (const MeasureKind& kind : measure_kinds()) {
    if (kind.key != target.metric) continue;
    return kind.name + (kind.lower_is_better ? " of at most " : " of at least ") +
           number_text(target.value);
  }
  return target.metric + " " + number_text(target.value);
}

}  // namespace draftlab

#include "reports/answer.h"

#include <algorithm>
#include <cmath>

#include "base/number_text.h"

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

std::string leader_sentence(const Summary& summary, Measure measure, SampleOf of,
                            const std::string& when) {
  const MeasureKind& kind = kind_of(measure);
  const std::vector<const Arm*> arms = ranking(summary, measure, of);
  if (arms.empty()) return when + ", no finished run has a " + kind.name + " yet.";
  const Arm& leader = *arms.front();
  const Estimate& estimate = of(*leader.chosen(), measure).estimate;
  const std::string value = fixed(estimate.mean, kind.decimals) +
                            (estimate.n == 1 ? " (" : " (mean of ") + counted(estimate.n, "seed") +
                            ")";
  if (arms.size() == 1) {
    return when + ", " + leader.name + " has a " + kind.name + " of " + value +
           "; no other arm has finished.";
  }
  const Arm* reference = &summary.arms[summary.reference];
  std::string text = when + ", " + leader.name + " has the " +
                     (kind.lower_is_better ? "lowest " : "highest ") + kind.name + ", " + value;
  // Against the reference, and against the next best.
  const bool reference_ranked = std::find(arms.begin(), arms.end(), reference) != arms.end();
  if (reference_ranked && reference != &leader) {
    text += ": " + comparison(leader, *reference, measure, of);
  }
  if (arms[1] != reference) {
    text += (reference_ranked && reference != &leader ? "; " : ": ");
    text += comparison(leader, *arms[1], measure, of);
  }
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

bool can_claim(const Estimate& difference) {
  return difference.n >= 3 && (difference.low > 0 || difference.high < 0);
}

std::string comparison(const Arm& a, const Arm& b, Measure measure, SampleOf of) {
  const int decimals = kind_of(measure).decimals;
  const Estimate d = paired_difference(*a.chosen(), *b.chosen(), measure, of);
  if (d.n == 0)
    return "it shares no finished seed with " + b.name + ", so no difference can be claimed";
  if (std::isnan(d.mean)) return "its difference to " + b.name + " is not a number";
  const std::string size =
      fixed(std::abs(d.mean), decimals) + (d.mean < 0 ? " below " : " above ") + b.name;
  if (d.n == 1) return size + " (one seed, from which no difference can be claimed)";
  const std::string interval = "95 % interval of the difference " + interval_text(d, decimals);
  const std::string seeds = std::to_string(d.n) + " paired seeds";
  if (d.n == 2)
    return size + " (" + interval + " over " + seeds + ": too few to claim a difference)";
  if (can_claim(d)) return size + " (" + interval + " over " + seeds + ")";
  return "no difference to " + b.name + " can be claimed (" + signed_text(d.mean, decimals) + ", " +
         interval + " over " + seeds + ")";
}

std::vector<Statement> answer(const Study& study) {
  const Summary& summary = study.summary;
  std::vector<Statement> statements;
  const int64_t steps = study.results.empty() ? 0 : study.results.front().config.training.steps;
  const std::string at_steps = "After " + grouped(steps) + " steps";
  const std::string at_time =
      "After " + seconds_text(summary.equal_seconds) + " of training, when the fastest run ends";
  for (Measure measure : {Measure::kAcceptanceLength, Measure::kLoss}) {
    const std::string topic = capitalized(kind_of(measure).name);
    statements.push_back(
        {topic + " at equal steps", leader_sentence(summary, measure, at_end, at_steps)});
    if (std::isnan(summary.equal_seconds)) continue;
    statements.push_back({topic + " at equal seconds",
                          leader_sentence(summary, measure, at_equal_seconds, at_time)});
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

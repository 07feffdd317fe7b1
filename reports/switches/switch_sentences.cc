#include <algorithm>
#include <cmath>

#include "base/number_text.h"
#include "reports/study/comparison.h"
#include "reports/switches/switch_study.h"
#include "reports/text/words.h"

namespace draftlab {
namespace {

constexpr int kLossDecimals = 4;
int decimals_of(Measure measure) {
  return measure == Measure::kLoss ? kLossDecimals : kind_of(measure).decimals;
}

// "0.0312 below" and what may be said of it.
std::string final_text(const SwitchComparison& one, Measure measure) {
  const Estimate& d = one.difference;
  const int decimals = decimals_of(measure);
  const std::string name = kind_of(measure).name;
  if (d.n == 0) return "there is no final " + name + " to compare";
  if (std::isnan(d.mean)) return "the difference in " + name + " is not a number";
  const std::string size = "the " + name + " is " + fixed(std::abs(d.mean), decimals) +
                           (d.mean < 0 ? " below" : " above") + " the run that went on";
  if (d.n == 1) return size + " (one seed, from which nothing can be claimed)";
  std::string facts = interval_phrase(one.difference, one.interval) +
                      interval_text(one.interval.low, one.interval.high, decimals) + " over " +
                      std::to_string(d.n) + " paired seeds";
  if (d.n == 2) return size + " (" + facts + ": too few to claim a difference)";
  facts += ", p " + p_text(one.adjusted_p);
  if (one.comparisons > 1) facts += " adjusted for " + counted(one.comparisons, "difference");
  if (one.claimed()) return size + " (" + facts + ")";
  if (one.diverged > 0) {
    return size + " (" + facts + "; " + counted(one.diverged, "run") +
           " diverged and is not in it, so nothing is claimed)";
  }
  if (!one.may_claim) return size + " (" + facts + "; not verified, so nothing is claimed)";
  return "no difference in " + name + " can be claimed (" + signed_text(d.mean, decimals) + ", " +
         facts + "; one of " + fixed(one.detectable(), decimals) + " would show 8 times in 10)";
}

std::string transient_text(const SwitchOutcome& outcome, int64_t step) {
  const Transient& t = outcome.transient;
  if (t.peak.n == 0) return "no common evaluation lies behind the switch";
  if (std::isnan(t.peak.mean)) return "the difference in loss behind the switch is not a number";
  const bool above = t.peak.mean > 0;
  std::string text = above ? "the loss is up to " + fixed(t.peak.mean, kLossDecimals) + " above"
                           : "at no evaluation behind the switch is the loss above";
  text += " the run that went on";
  if (above) {
    text +=
        ", " + counted(t.peak_step - step, "step") + " behind the switch" +
        (t.peak.n > 1 ? " (interval " + interval_text(t.peak.low, t.peak.high, kLossDecimals) + ")"
                      : "");
  }
  if (!above && std::isinf(t.length)) return text + ", nor below it to the end";
  if (std::isinf(t.length)) return text + ", and it never stays below";
  text += above ? ", and it stays below from " : "; it is below from ";
  text += counted(static_cast<int64_t>(t.length), "step") + " behind the switch on";
  int64_t reached = 0;
  for (const double length : t.length_of_seed) reached += std::isfinite(length);
  if (t.length_of_seed.size() > 1) {
    text += " (the mean; in " + std::to_string(reached) + " of " +
            counted(static_cast<int64_t>(t.length_of_seed.size()), "seed") + ")";
  }
  return text;
}

// " (interval -0.1 to 0.2)" where there is one.
std::string with_interval(const Estimate& d, int decimals) {
  return signed_text(d.mean, decimals) +
         (d.n > 1 ? " (" + interval_text(d.low, d.high, decimals) + ")" : " (one seed)");
}

std::string update_text(const SwitchOutcome& outcome) {
  if (outcome.first_updates.empty()) return "";
  const FirstUpdate& all = outcome.first_updates.front();
  std::string text =
      " Its first update moves the weights by " + significant(all.ratio, 2) + " of their size";
  if (all.reference > 0)
    text +=
        ", " + significant(all.ratio / all.reference, 2) + " times as far as without the switch";
  return text + ".";
}

}  // namespace

std::string length_text(double steps) {
  return std::isinf(steps) ? "never" : counted(static_cast<int64_t>(steps), "step");
}

std::string switch_title(const SwitchGroup& group) {
  return optimizer_name(group.before.optimizer) + " to step " + grouped(group.place.step) + " of " +
         grouped(group.place.steps);
}

std::string place_text(const SwitchPlace& place) {
  std::string text = fixed(100 * place.share_of_training(), 1) + " % of training, ";
  if (place.in_warmup()) {
    text += "at " + fixed(100 * place.share_of_warmup(), 0) + " % of the warm-up of " +
            counted(place.warmup_steps, "step");
  } else {
    text += place.warmup_steps == 0
                ? "without a warm-up"
                : "behind the warm-up of " + counted(place.warmup_steps, "step");
  }
  return text + "; the rate there is " + fixed(100 * place.rate, 0) + " % of its peak";
}

std::vector<std::string> switch_sentences(const SwitchStudy& study) {
  std::vector<std::string> sentences = {study.status_text};
  if (study.status == SwitchStudy::Status::kRefused) return sentences;
  const SwitchGroup& group = study.group;
  for (size_t i = 0; i < study.outcomes.size(); ++i) {
    const SwitchVariant& variant = group.variants[i];
    const SwitchOutcome& outcome = study.outcomes[i];
    if (variant.chosen() == nullptr) {
      sentences.push_back(variant.name + " has no finished run.");
      continue;
    }
    if (outcome.final_loss.difference.n == 0) {
      sentences.push_back(variant.name +
                          " has no finished seed in common with a run that went on unchanged.");
    } else {
      const std::string rate =
          variant.settings.size() > 1
              ? " at rate " + number_text(variant.chosen()->optimizer.learning_rate())
              : "";
      sentences.push_back(
          variant.name + rate + (variant.reset_only ? " (what the reset alone costs)" : "") + ": " +
          transient_text(outcome, group.place.step) + ". At the end " +
          final_text(outcome.final_length, Measure::kAcceptanceLength) + "; " +
          final_text(outcome.final_loss, Measure::kLoss) + "." + update_text(outcome));
    }
    if (outcome.late_loss.n == 0) continue;
    sentences.push_back("Against the same optimizer from the start (rate " +
                        number_text(variant.chosen_from_start()->optimizer.learning_rate()) +
                        "), " + variant.name + " ends with " +
                        with_interval(outcome.late_loss, kLossDecimals) + " in loss and " +
                        with_interval(outcome.late_length, 3) + " in acceptance length.");
  }
  for (const TransferGain& gain : study.gains) {
    sentences.push_back("Carrying the state over instead of zeroing it (" +
                        group.variants[gain.transfer].name + " against " +
                        group.variants[gain.reset].name + ") changes the final loss by " +
                        with_interval(gain.loss, kLossDecimals) + " and the acceptance length by " +
                        with_interval(gain.length, 3) + ".");
  }
  return sentences;
}

}  // namespace draftlab

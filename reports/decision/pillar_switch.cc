// What does a change in mid-run cost, and is it repaid?
#include <algorithm>
#include <cmath>

#include "base/number_text.h"
#include "record/optimizer_kind.h"
#include "reports/decision/nearest_switch.h"
#include "reports/decision/pillar.h"
#include "reports/stats/claim.h"
#include "reports/switches/switch_study.h"
#include "reports/text/words.h"

namespace draftlab {
namespace {

std::string context_place(const DecisionContext& context) {
  std::string text = fixed(100 * context.place.share_of_training(), 1) + " % of training";
  if (context.place.warmup_steps == 0) return text;
  if (!context.place.in_warmup()) return text + ", behind the warm-up";
  return text + ", at " + fixed(100 * context.place.share_of_warmup(), 0) + " % of the warm-up";
}

PillarNumber number_of(const std::string& what, const Estimate& d) {
  return {what, d.mean, d.low, d.high, d.n};
}

// The checks of the variant and what it is compared with, and of nothing else.
Refusal refusal_of(const MeasuredSwitch& measured, const SwitchVariant& variant) {
  std::vector<const Result*> runs = variant.chosen()->finished;
  const auto& reference = measured.of.group.reference();
  runs.insert(runs.end(), reference.begin(), reference.end());
  const Study part = part_of(*measured.study, [&](const Result& run) {
    return std::ranges::find(runs, &run) != runs.end();
  });
  return refusal_between(part, variant.chosen()->finished.front()->arm, reference.front()->arm);
}

// A difference against 0, where the adjusted p allows a claim.
Judgement judge_claim(const SwitchComparison& comparison, bool above_is_for) {
  Judgement judgement = judge(number_of("", comparison.interval), 0, above_is_for);
  if (!comparison.claimed()) {
    judgement.verdict = Verdict::kUndecided;
    judgement.margin = std::min(judgement.margin, 1.0);
  }
  return judgement;
}

std::string claim_text(const SwitchComparison& one, int decimals) {
  return signed_text(one.difference.mean, decimals) +
         (one.difference.n > 1
              ? " (" + interval_text(one.interval.low, one.interval.high, decimals) + ")"
              : "");
}

Pillar asked(const DecisionContext& context) {
  Pillar pillar;
  pillar.name = "switch cost";
  pillar.question = "Is a run that changes from " + kind_title(context.current) + " to " +
                    kind_title(context.candidate) +
                    " in the middle ahead at its end of one that does not?";
  pillar.rule =
      "At the measured switch in the same phase of the schedule whose share of training is "
      "nearest: "
      "for where the best variant's final acceptance length is above that of the run that went on "
      "and this may be claimed (adjusted p of at most " +
      kClaimLevelText + ", " + kFewestSeedsInWords +
      " seeds), against where it is "
      "below; undecided where the loss says the opposite.";
  pillar.settle = "A sweep that switches at " + context_place(context) + ", with " +
                  kFewestSeedsInWords +
                  " seeds or more, a resumed run, rates of its own for both "
                  "optimizers, and as many steps behind the switch as differences need to show.";
  return pillar;
}

std::string distance_text(const SwitchPlace& place, const DecisionContext& context) {
  return "The nearest measured switch lies at " + place_text(place) + "; the run stands at " +
         context_place(context) + ".";
}

void add_numbers(const MeasuredSwitch& measured, Pillar& pillar) {
  const SwitchGroup& group = measured.of.group;
  for (const size_t v : measured.variants) {
    const SwitchOutcome& outcome = measured.of.outcomes[v];
    const std::string& name = group.variants[v].name;
    const Transient& t = outcome.transient;
    pillar.numbers.push_back(number_of("largest D in loss, " + name, t.peak));
    pillar.numbers.push_back(
        {"steps until D in loss stays below 0, over those that were left, " + name,
         t.length / static_cast<double>(group.place.steps - group.place.step), NAN, NAN, t.peak.n});
    pillar.numbers.push_back(
        number_of("final D in acceptance length, " + name, outcome.final_length.interval));
    pillar.numbers.push_back(number_of("final D in loss, " + name, outcome.final_loss.interval));
  }
}

// Why the best variant may not decide, whatever came out; "" where it may.
std::string obstacle(const MeasuredSwitch& measured, const SwitchVariant& variant) {
  if (measured.of.status == SwitchStudy::Status::kNotVerified) return measured.of.status_text;
  const Refusal refusal = refusal_of(measured, variant);
  if (refusal.ids.empty()) return "";
  return "The checks allow no winner between the two (" + refusal.ids + "): " + refusal.sentence;
}

std::string reason_text(const SwitchVariant& variant, const SwitchOutcome& outcome) {
  return "The best way to change, " + variant.name + ", ends with " +
         claim_text(outcome.final_length, 3) + " in acceptance length and " +
         claim_text(outcome.final_loss, 4) + " in loss against the run that went on.";
}

std::string undecided_text(const SwitchOutcome& outcome) {
  if (outcome.final_length.claimed() && outcome.final_loss.claimed())
    return "Both differences may be claimed, and they disagree.";
  std::string text = "That may not be claimed";
  if (outcome.final_length.difference.n >= kFewestSeeds) {
    text += "; a difference in acceptance length of " +
            fixed(outcome.final_length.detectable(), 3) + " would show 8 times in 10";
  }
  return text + ".";
}

}  // namespace

Pillar switch_pillar(const std::vector<Study>& studies, const DecisionContext& context) {
  Pillar pillar = asked(context);
  const std::optional<MeasuredSwitch> measured =
      nearest_switch(studies, context, context.folders_of(pillar.name));
  if (!measured) {
    pillar.reason = no_switch_text(context);
    return pillar;
  }
  pillar.limits.push_back(distance_text(measured->of.group.place, context));
  for (const FairnessFinding& note : measured->of.notes) pillar.limits.push_back(note.sentence);
  if (measured->of.status == SwitchStudy::Status::kRefused) {
    pillar.reason = measured->of.status_text;
    return pillar;
  }
  add_numbers(*measured, pillar);
  const size_t best = measured->best_variant();
  pillar.origins = {folder_name(*measured->study) + ": " + measured->of.group.variants[best].name};
  const SwitchOutcome& outcome = measured->of.outcomes[best];
  const SwitchVariant& variant = measured->of.group.variants[best];
  if (outcome.final_length.difference.n == 0) {
    pillar.reason = "No finished seed is common to a run that changed and one that went on.";
    return pillar;
  }
  pillar.balances = {{number_of("final acceptance length of " + variant.name + ", difference",
                                outcome.final_length.interval),
                      0, true}};
  Judgement judgement =
      judge_both(judge_claim(outcome.final_length, true), judge_claim(outcome.final_loss, false));
  std::string why = obstacle(*measured, variant);
  if (!why.empty()) {
    judgement.verdict = Verdict::kUndecided;
  } else if (judgement.verdict == Verdict::kUndecided) {
    why = undecided_text(outcome);
  }
  decide_by(judgement, pillar);
  pillar.reason = reason_text(variant, outcome) + (why.empty() ? "" : " " + why);
  return pillar;
}

}  // namespace draftlab

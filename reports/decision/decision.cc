#include "reports/decision/decision.h"

#include <algorithm>
#include <cmath>

#include "base/number_text.h"
#include "reports/pipeline/pipeline_findings.h"
#include "reports/text/words.h"

namespace draftlab {
namespace {

std::vector<std::string> names_with(const std::vector<const Pillar*>& pillars, Verdict verdict) {
  std::vector<std::string> names;
  for (const Pillar* pillar : pillars) {
    if (pillar->verdict == verdict) names.push_back(pillar->name);
  }
  return names;
}

// For where all are, against where any is.
Decision::Choice choice_from(const std::string& name, const std::vector<const Pillar*>& pillars) {
  const std::vector<std::string> against = names_with(pillars, Verdict::kAgainst),
                                 undecided = names_with(pillars, Verdict::kUndecided);
  if (!against.empty()) return {name, Verdict::kAgainst, "against it: " + joined(against)};
  if (!undecided.empty()) return {name, Verdict::kUndecided, "undecided: " + joined(undecided)};
  return {name, Verdict::kFor, "for it: " + joined(names_with(pillars, Verdict::kFor))};
}

std::string recommendation(const Decision& decision, const DecisionContext& context) {
  const Decision::Choice &start = decision.choices[0], &change = decision.choices[1];
  if (change.verdict == Verdict::kFor)
    return "Switch this run to " + context.candidate + " now (" + change.reason + ").";
  std::string text = "Stay with " + context.current + " in this run";
  text += change.verdict == Verdict::kAgainst
              ? " (a switch has " + change.reason + ")"
              : ", as no measurement decides for a switch (" + change.reason + ")";
  switch (start.verdict) {
    case Verdict::kFor:
      return text + ", and start the next one with " + context.candidate + " (" + start.reason +
             ").";
    case Verdict::kAgainst:
      return text + ", and do not start the next one with " + context.candidate + " (" +
             start.reason + ").";
    case Verdict::kUndecided:
      break;
  }
  return text + "; with what to start the next one is open (" + start.reason + ").";
}

// How much less data the candidate needs is measured twice: by steps to one target, read in the
// middle of a schedule, and by the ends of annealed budgets. Where the two exclude each other, both
// pillars say so.
void tell_disagreement(std::vector<Pillar>& pillars) {
  Pillar &bottleneck = pillars[0], &returns = pillars[3];
  const auto steps = std::ranges::find_if(
      bottleneck.numbers, [](const PillarNumber& number) { return number.what == kStepsToTarget; });
  const PillarNumber* ends = nullptr;  // of the largest budget, by the deciding measure
  for (const PillarNumber& number : returns.numbers) {
    if (number.what.starts_with("data efficiency by acceptance length")) ends = &number;
  }
  if (steps == bottleneck.numbers.end() || ends == nullptr) return;
  // As much data as the current optimizer needs `ends` times is what the candidate needs once.
  const double low = 1 / ends->high, high = 1 / ends->low;
  if (!(steps->high < low || high < steps->low)) return;
  const std::string text = "Two measurements of how much less data " +
                           std::string(
                               "the candidate needs exclude each "
                               "other: ") +
                           number_phrase(*steps) +
                           " times the steps to one target in the middle of a "
                           "schedule, and " +
                           short_number(1 / ends->value) + " (" + short_number(low) + " to " +
                           short_number(high) +
                           ") times by annealed ends. The annealed one is the better guide.";
  bottleneck.limits.push_back(text);
  returns.limits.push_back(text);
}

}  // namespace

Decision conclude(std::vector<Pillar> pillars, const DecisionContext& context,
                  const std::optional<Pillar>& behind) {
  Decision decision;
  decision.pillars = std::move(pillars);
  tell_disagreement(decision.pillars);
  std::vector<const Pillar*> all;
  for (const Pillar& pillar : decision.pillars) all.push_back(&pillar);
  const auto strength = [](const Pillar& pillar) {
    return std::isnan(pillar.margin) ? -1 : pillar.margin;
  };
  decision.weakest =
      std::ranges::min_element(decision.pillars, {}, strength) - decision.pillars.begin();
  decision.choices.push_back(choice_from("start with it", {all[0], all[2], all[3]}));
  if (behind) all[0] = &*behind;
  decision.choices.push_back(choice_from("switch now", all));
  const Decision::Choice& change = decision.choices.back();
  Decision::Choice stay{"stay", Verdict::kUndecided, "a switch is " + change.reason};
  if (change.verdict == Verdict::kFor) stay = {"stay", Verdict::kAgainst, "a switch is better"};
  if (change.verdict == Verdict::kAgainst)
    stay = {"stay", Verdict::kFor, "a switch has " + change.reason};
  decision.choices.push_back(stay);
  decision.recommendation = recommendation(decision, context);
  return decision;
}

Decision decide(const std::vector<Study>& studies, const DecisionContext& context) {
  const std::vector<KindPair> pairs = kind_pairs(studies, context.current, context.candidate);
  Pillar change = switch_pillar(studies, context);
  PillarNumber batches{kStepsBehindSwitch, NAN};
  for (const PillarNumber& number : change.numbers) {
    if (number.what == kStepsBehindSwitch) batches = number;
  }
  return conclude({bottleneck_pillar(pairs, context), std::move(change),
                   architecture_pillar(pairs, context), returns_pillar(pairs, context)},
                  context, bottleneck_behind_switch(pairs, batches, context));
}

std::vector<std::pair<std::string, std::string>> context_facts(const DecisionContext& context) {
  const std::vector<PipelineCase> cases = predict_pipeline(context.pipeline);
  std::vector<std::string> kinds;
  for (const std::string& type : context.drafter.layer_types) kinds.push_back(type);
  std::string schedule = fixed(100 * context.rate / context.peak_rate, 0) + " % of its peak of " +
                         number_text(context.peak_rate);
  if (context.place.in_warmup()) {
    schedule += ", " + fixed(100 * context.place.share_of_warmup(), 0) + " % into a warm-up of " +
                counted(context.place.warmup_steps, "step");
  } else {
    schedule += ", behind a warm-up of " + counted(context.place.warmup_steps, "step");
  }
  const PipelineCase& now = cases.front();
  return {
      {"drafter", grouped(context.parameters) + " parameters, " +
                      counted(context.drafter.num_hidden_layers(), "layer") + " (" + joined(kinds) +
                      "), for a target of " + counted(context.target_layers, "layer")},
      {"run", "step " + grouped(context.place.step) + " of " + grouped(context.place.steps) + " (" +
                  fixed(100 * context.place.share_of_training(), 1) + " %), " +
                  number_text(context.epochs) + " epochs, loss from " +
                  number_text(context.first_loss) + " to " + number_text(context.loss) +
                  ", acceptance length " + number_text(context.acceptance_length)},
      {"learning rate", schedule},
      {"question", "from " + context.current + " to " + context.candidate},
      {"pipeline", short_number(now.phases.front().steady.throughput) + " batches/s (supply " +
                       short_number(now.phases.front().steady.supply) + ", demand " +
                       short_number(now.phases.front().steady.demand) + "), " +
                       pipeline_time_text(now.seconds_left) + " to go"},
  };
}

}  // namespace draftlab

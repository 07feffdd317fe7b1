#include "reports/decision/decision.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "base/number_text.h"
#include "record/optimizer_kind.h"
#include "reports/decision/kind_pair.h"
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
    return "Switch this run to " + kind_title(context.candidate) + " now (" + change.reason + ").";
  std::string text = "Stay with " + kind_title(context.current) + " in this run";
  text += change.verdict == Verdict::kAgainst
              ? " (a switch has " + change.reason + ")"
              : ", as no measurement decides for a switch (" + change.reason + ")";
  switch (start.verdict) {
    case Verdict::kFor:
      return text + ", and start the next one with " + kind_title(context.candidate) + " (" +
             start.reason + ").";
    case Verdict::kAgainst:
      return text + ", and do not start the next one with " + kind_title(context.candidate) + " (" +
             start.reason + ").";
    case Verdict::kUndecided:
      break;
  }
  return text + "; with what to start the next one is open (" + start.reason + ").";
}

}  // namespace

Decision conclude(std::vector<Pillar> pillars, const DecisionContext& context) {
  Decision decision;
  decision.pillars = std::move(pillars);
  std::vector<const Pillar*> all;
  for (const Pillar& pillar : decision.pillars) all.push_back(&pillar);
  for (const Pillar* a : all) {
    for (const Pillar* b : all) {
      if (a >= b || !a->steps || !b->steps) continue;
      if (a->steps->low <= b->steps->high && b->steps->low <= a->steps->high) continue;
      decision.disagreements.push_back(
          "Two pillars disagree about how many steps " + kind_title(context.candidate) +
          " needs: " + a->name + " measures " + number_phrase(*a->steps) + " (" + a->steps->what +
          "), " + b->name + " " + number_phrase(*b->steps) + " (" + b->steps->what + ").");
    }
  }
  const auto strength = [](const Pillar& pillar) {
    return std::isnan(pillar.margin) ? -1 : pillar.margin;
  };
  decision.weakest =
      std::ranges::min_element(decision.pillars, {}, strength) - decision.pillars.begin();
  decision.choices.push_back(choice_from("start with it", {all[0], all[3], all[4]}));
  decision.choices.push_back(choice_from("switch now", {all[1], all[2], all[3], all[4]}));
  const Decision::Choice& change = decision.choices.back();
  Decision::Choice stay{"stay", Verdict::kUndecided, "a switch is " + change.reason};
  if (change.verdict == Verdict::kFor) stay = {"stay", Verdict::kAgainst, "a switch is better"};
  if (change.verdict == Verdict::kAgainst)
    stay = {"stay", Verdict::kFor, "a switch has " + change.reason};
  decision.choices.push_back(stay);
  decision.recommendation = recommendation(decision, context);
  return decision;
}

namespace {

// Every folder that the context names is one of those that were given, and one only.
void require_folders(const std::vector<Study>& studies, const DecisionContext& context) {
  std::vector<std::string> given;
  for (const Study& study : studies) given.push_back(folder_name(study));
  for (const auto& [pillar, folders] : context.evidence) {
    for (const std::string& folder : folders) {
      const auto found = std::ranges::count(given, folder);
      if (found == 1) continue;
      throw Error("\"evidence\" of the context, \"" + pillar + "\"",
                  "names the folder \"" + folder + "\", which " +
                      (found == 0 ? "was not given; given are " + joined(given)
                                  : "several of the given are called; rename one"));
    }
  }
}

// Why arms that were given the same seconds are no evidence for a ratio of times; "" where none of
// the folders has such.
std::string equal_seconds_text(const std::vector<Study>& studies) {
  std::vector<std::string> names;
  for (const Study& study : studies) {
    if (!std::isnan(budget_seconds(study.plan))) names.push_back(folder_name(study));
  }
  if (names.empty()) return "";
  return "At equal seconds of this machine (" + joined(names) +
         ") each optimizer ends after as many steps as fit. Where these differ there is no ratio "
         "of "
         "steps at equal training, and the seconds of a small drafter's step do not carry over to "
         "production: sweeps that train both for equal steps, without \"compare\", are the source.";
}

}  // namespace

Decision decide(const std::vector<Study>& studies, const DecisionContext& context) {
  require_folders(studies, context);
  const auto pairs = [&](const char* pillar) {
    return kind_pairs(studies, context.current, context.candidate, context.folders_of(pillar));
  };
  const std::vector<KindPair> of_time = pairs("bottleneck");
  const Pillar returns = returns_pillar(pairs("diminishing returns"), context);
  Pillar bottleneck = bottleneck_pillar(of_time, context, returns.steps);
  if (std::string text = equal_seconds_text(studies); !text.empty())
    bottleneck.limits.push_back(std::move(text));
  const std::optional<PillarNumber> steps = returns.steps ? returns.steps : bottleneck.steps;
  Decision decision = conclude(
      {bottleneck, behind_switch_pillar(studies, of_time, context), switch_pillar(studies, context),
       architecture_pillar(pairs("architecture"), context), returns},
      context);
  if (!bottleneck.balances.empty() && steps) {
    decision.what_if = what_if(context, *steps);
    decision.turning_step_ratio = turning_step_ratio(context, *steps);
  }
  return decision;
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
      {"question", "from " + kind_title(context.current) + " to " + kind_title(context.candidate)},
      {"pipeline", short_number(now.phases.front().steady.throughput) + " batches/s (supply " +
                       short_number(now.phases.front().steady.supply) + ", demand " +
                       short_number(now.phases.front().steady.demand) + "), " +
                       pipeline_time_text(now.seconds_left) + " to go"},
  };
}

}  // namespace draftlab

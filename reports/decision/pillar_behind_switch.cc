// Is the rest of this run shorter with the candidate, from where it stands?
#include <algorithm>
#include <cmath>

#include "record/optimizer_kind.h"
#include "reports/decision/level_ratio.h"
#include "reports/decision/nearest_switch.h"
#include "reports/decision/pillar.h"
#include "reports/decision/time_ratio.h"
#include "reports/stats/claim.h"
#include "reports/text/words.h"

namespace draftlab {
namespace {

Pillar asked(const DecisionContext& context) {
  Pillar pillar;
  pillar.name = "time behind the switch";
  pillar.question = "From where this run stands, does it reach its target sooner with " +
                    kind_title(context.candidate) + " than if it goes on with " +
                    kind_title(context.current) + "?";
  pillar.rule =
      "Steps behind the nearest measured switch, of the best variant against the run that went on, "
      "at the highest level that both reach. For where the whole interval of the ratio of times "
      "lies below 1, against where it lies above.";
  pillar.settle = "A sweep with a target that switches where this run stands, with " +
                  kFewestSeedsInWords + " seeds and a resumed run, evaluated often behind it.";
  return pillar;
}

}  // namespace

Pillar behind_switch_pillar(const std::vector<Study>& studies, const std::vector<KindPair>& pairs,
                            const DecisionContext& context) {
  Pillar pillar = asked(context);
  const std::optional<MeasuredSwitch> measured =
      nearest_switch(studies, context, context.folders_of(pillar.name));
  if (!measured) {
    pillar.reason = no_switch_text(context);
    return pillar;
  }
  if (measured->of.status != SwitchStudy::Status::kVerified) {
    pillar.reason = measured->of.status_text;
    return pillar;
  }
  const TargetLevel& target = measured->study->plan.target;
  if (target.metric.empty()) {
    pillar.reason = "The sweep of the nearest measured switch has no target.";
    return pillar;
  }
  const SwitchGroup& group = measured->of.group;
  const SwitchVariant& variant = group.variants[measured->best_variant()];
  const std::vector<const Result*>& changed = variant.chosen()->finished;
  const std::vector<const Result*>& stayed = group.reference();
  pillar.origins = {folder_name(*measured->study) + ": " + variant.name};
  pillar.limits.push_back("The switch was measured at " + place_text(group.place) + ".");
  const std::vector<LevelRatio> levels = level_ratios(changed, stayed, target, group.place.step);
  for (const LevelRatio& level : levels) {
    pillar.numbers.push_back(level.steps);
    pillar.numbers.back().what = "behind the switch, " + level.steps.what;
  }
  const PillarNumber& steps = levels.front().steps;
  if (std::isnan(steps.low)) {
    pillar.reason = "There is no interval for the " + steps.what +
                    ", behind the switch: some run does not get there, or was there before, or "
                    "there is one seed.";
    return pillar;
  }
  const std::optional<PillarNumber> seconds = step_ratio(longest(pairs, false), context);
  if (!seconds || std::isnan(seconds->low)) {
    pillar.reason = "With " + number_phrase(steps) +
                    " times the steps behind the switch, but without a ratio of the seconds of a "
                    "step, there is no ratio of times.";
    return pillar;
  }
  pillar.numbers.push_back(*seconds);
  const TimeRatio time = time_ratios(context, steps, *seconds).front();
  pillar.numbers.insert(pillar.numbers.end(), {time.current_days, time.candidate_days, time.ratio});
  pillar.balances = {{time.ratio, 1, false}};
  decide_by(judge(time.ratio, 1, false), pillar);
  pillar.reason = "Behind the switch " + variant.name + " needs " + number_phrase(steps) +
                  " times the steps of the run that went on, at " + number_phrase(*seconds) +
                  " times the seconds of a step: " + number_phrase(time.ratio) +
                  " times the time that is left.";
  return pillar;
}

}  // namespace draftlab

// Is the target reached sooner with the candidate, in the pipeline as it is?
#include <algorithm>
#include <cmath>

#include "base/number_text.h"
#include "record/optimizer_kind.h"
#include "record/update_cost.h"
#include "reports/decision/level_ratio.h"
#include "reports/decision/pillar.h"
#include "reports/decision/time_ratio.h"
#include "reports/pipeline/pipeline_findings.h"
#include "reports/stats/claim.h"
#include "reports/text/words.h"

namespace draftlab {
namespace {

constexpr double kThreshold = 1;

// How many runs of a setting reached the target.
std::string reached_text(const Arm& arm) {
  const TargetCount& target = arm.chosen()->target;
  return arm.name + " in " + std::to_string(target.reached) + " of " + counted(target.of, "run");
}

// What one update costs on the shapes of production, beside the forward and backward passes.
void note_operations(const KindPair& pair, const DecisionContext& context, Pillar& pillar) {
  const OptimizerConfig& optimizer = pair.candidate->chosen()->optimizer;
  const double update =
      update_cost(route(parameter_shapes(context.drafter), optimizer, {}, "context"), optimizer)
          .flop;
  // Trained weights take three passes of 2 operations each, the frozen head two: forward, and the
  // gradient of what goes into it.
  const double head = static_cast<double>(context.drafter.hidden_size) *
                      static_cast<double>(context.drafter.draft_vocab_size);
  const double a_token = 6 * static_cast<double>(context.parameters) + 4 * head;
  const PipelineInterval& tokens = context.tokens_per_batch;
  const double share = update / (a_token * tokens.value);
  pillar.numbers.push_back(
      {"operations of one update on the production shapes, over those of the passes (6 x trained "
       "parameters and 4 x frozen head, x tokens of a batch; interval: range of tokens)",
       share, update / (a_token * tokens.high), update / (a_token * tokens.low)});
  pillar.limits.push_back(
      "How long a step takes does not carry over from a small drafter: there one update is another "
      "share of it. By operations an update takes " +
      share_text(share) + " of the passes at production scale" +
      (context.step_ratio ? "." : "; give \"step_ratio\" where it was measured there."));
}

Pillar asked(const DecisionContext& context) {
  Pillar pillar;
  pillar.name = "bottleneck";
  pillar.question = "Does " + kind_title(context.candidate) + " reach the target sooner than " +
                    kind_title(context.current) + " in the pipeline as it is?";
  pillar.rule = "For where the whole interval of the ratio of times to the target lies below " +
                number_text(kThreshold) + ", against where it lies above.";
  return pillar;
}

// Why no time can be told from the ratios, "" where it can; and what would help.
std::string obstacle(const KindPair& pair, const PillarNumber& steps, const PillarNumber& seconds,
                     std::string& settle) {
  if (const std::string refused = refusal_text(pair); !refused.empty()) return refused;
  if (std::isnan(steps.value)) {
    settle = "A target that all runs reach, or longer training.";
    return "Not every run reached the target (" + reached_text(*pair.current) + ", " +
           reached_text(*pair.candidate) + "), so there is no ratio of times.";
  }
  if (std::isnan(steps.low) || std::isnan(seconds.low)) return "One seed gives no interval.";
  return "";
}

std::string reason_text(const PillarNumber& steps, const PillarNumber& seconds,
                        const TimeRatio& time, const DecisionContext& context) {
  std::string text = "With " + number_phrase(steps) + " times the steps and " +
                     number_phrase(seconds) + " times the seconds of a step, " +
                     kind_title(context.candidate) + " takes " + number_phrase(time.ratio) +
                     " times as long as " + kind_title(context.current) + " (" + time.place +
                     "): a step may take " + share_text(time.free_slowdown) +
                     " longer at no cost there, and 1% fewer batches save " +
                     percent_text(time.fewer_batches_save) + " of the time.";
  if (time.ratio.n < kFewestSeeds)
    text += " Fewer than " + kFewestSeedsInWords + " seeds decide nothing.";
  return text;
}

}  // namespace

Pillar bottleneck_pillar(const std::vector<KindPair>& pairs, const DecisionContext& context,
                         const std::optional<PillarNumber>& annealed) {
  Pillar pillar = asked(context);
  const KindPair* pair = longest(pairs, true);
  if (pair == nullptr) {
    pillar.reason = "No folder has a target and finished runs of both " +
                    kind_title(context.current) + " and " + kind_title(context.candidate) +
                    " under equal training.";
    pillar.settle = "Both optimizers from the start with " + kFewestSeedsInWords +
                    " seeds, in a sweep with a target.";
    return pillar;
  }
  pillar.settle = "The same sweep with more seeds, and a step of " + kind_title(context.candidate) +
                  " timed on the production shapes (\"step_ratio\").";
  if (!pair->warnings.empty()) pillar.limits.push_back("Checks warn: " + pair->warnings + ".");
  pillar.origins = {origin_text(*pair)};
  const std::vector<LevelRatio> levels =
      level_ratios(pair->candidate_runs(), pair->current_runs(), pair->study.plan.target);
  const PillarNumber& by_curve = levels.front().steps;
  const PillarNumber steps = annealed.value_or(by_curve), seconds = *step_ratio(pair, context);
  if (!std::isnan(by_curve.low)) pillar.steps = by_curve;
  pillar.numbers = {steps, seconds};
  for (const LevelRatio& level : levels) {
    if (annealed || &level != &levels.front()) pillar.numbers.push_back(level.steps);
  }
  if (!annealed) {
    pillar.limits.push_back(
        "Steps are read off curves in mid-schedule, for want of three annealed budgets.");
  }
  note_operations(*pair, context, pillar);
  pillar.reason = obstacle(*pair, steps, seconds, pillar.settle);
  if (!pillar.reason.empty()) return pillar;

  // The pipeline as it is comes first, and decides.
  const std::vector<TimeRatio> times = time_ratios(context, steps, seconds);
  for (const TimeRatio& time : times)
    pillar.numbers.insert(pillar.numbers.end(),
                          {time.current_days, time.candidate_days, time.ratio});
  const PillarNumber& deciding = times.front().ratio;
  pillar.balances = {{deciding, kThreshold, false}};
  decide_by(judge(deciding, kThreshold, false), pillar);
  pillar.reason = reason_text(steps, seconds, times.front(), context);
  return pillar;
}

}  // namespace draftlab

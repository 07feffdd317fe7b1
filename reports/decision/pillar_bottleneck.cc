// Is the target reached sooner with the candidate, in the pipeline as it is?
#include <algorithm>
#include <cmath>

#include "base/number_text.h"
#include "record/update_cost.h"
#include "reports/decision/pillar.h"
#include "reports/pipeline/pipeline_findings.h"
#include "reports/pipeline/pipeline_model.h"
#include "reports/stats/claim.h"
#include "reports/study/probe.h"
#include "reports/text/words.h"

namespace draftlab {
namespace {

constexpr double kThreshold = 1;

// Ratios of runs with equal seeds, candidate over current; the mean is geometric.
PillarNumber paired_ratio(const KindPair& pair, const std::string& what,
                          double (*of)(const Result&)) {
  std::vector<double> logs;
  bool endless = false;
  for (const Result* run : pair.candidate_runs()) {
    for (const Result* other : pair.current_runs()) {
      if (!(run->seeds == other->seeds)) continue;
      const double ratio = of(*run) / of(*other);
      endless |= std::isinf(of(*run)) || std::isinf(of(*other));
      logs.push_back(std::log(ratio));
    }
  }
  PillarNumber number{what, NAN};
  number.n = static_cast<int64_t>(logs.size());
  if (endless || logs.empty()) return number;
  const Estimate mean = estimate(logs);
  number.value = std::exp(mean.mean);
  number.low = std::exp(mean.low);
  number.high = std::exp(mean.high);
  return number;
}

double steps_to_target(const Result& run) { return run.steps_to_target.value_or(NAN); }
double seconds_per_step(const Result& run) {
  return run.train_seconds / static_cast<double>(run.steps);
}

// Candidate over current. Steps that were timed alone have quartiles, whose widest ratio is the
// interval; else it is that of the runs' own seconds, seed by seed.
PillarNumber step_ratio(const KindPair& pair) {
  const Result &current = *pair.current_runs().front(), &candidate = *pair.candidate_runs().front();
  if (!current.seconds_from_probe || !candidate.seconds_from_probe)
    return paired_ratio(pair, "seconds of a step, ratio", seconds_per_step);
  const StepTime a = step_time(*current.probe), b = step_time(*candidate.probe);
  return {"seconds of a step timed alone, ratio (interval: far quartiles)",
          b.seconds() / a.seconds(), b.low / a.high, b.high / a.low, std::min(a.n, b.n)};
}

// How many runs of a setting reached the target.
std::string reached_text(const Arm& arm) {
  const TargetCount& target = arm.chosen()->target;
  return arm.name + " in " + std::to_string(target.reached) + " of " + counted(target.of, "run");
}

// The longest training of the pairs; null for none.
const KindPair* longest(const std::vector<KindPair>& pairs) {
  const KindPair* best = nullptr;
  for (const KindPair& pair : pairs) {
    if (!pair.layers.empty() || pair.study.plan.target.metric.empty()) continue;
    if (best == nullptr || pair.config().training.steps > best->config().training.steps)
      best = &pair;
  }
  return best;
}

// Times to the target in every pipeline of the context, the candidate's as wide as both ratios make
// it.
struct Times {
  PipelineCase current, candidate;
  PipelineInterval seconds;  // of the candidate
};

std::vector<Times> predict(const DecisionContext& context, const PillarNumber& batches,
                           const PillarNumber& step) {
  const PipelineOptimizer& now = context.pipeline.optimizers.front();
  const double left = now.batches_to_target.value;
  const auto with_step = [&](double ratio) {
    PipelineSpec spec = context.pipeline;
    PipelineOptimizer candidate = now;
    candidate.name = context.candidate;
    candidate.step_seconds = now.step_seconds * ratio;
    candidate.update_seconds =
        std::clamp(now.update_seconds + now.step_seconds * (ratio - 1), 0., candidate.step_seconds);
    candidate.batches_to_target = {left * batches.value, left * batches.low, left * batches.high};
    spec.optimizers.push_back(candidate);
    return predict_pipeline(spec);
  };
  const auto fast = with_step(step.low), middle = with_step(step.value),
             slow = with_step(step.high);
  std::vector<Times> times;
  for (size_t i = 0; i + 1 < middle.size(); i += 2) {
    times.push_back({middle[i],
                     middle[i + 1],
                     {middle[i + 1].seconds_to_target.value, fast[i + 1].seconds_to_target.low,
                      slow[i + 1].seconds_to_target.high}});
  }
  return times;
}

std::string place(const PipelineCase& c) {
  return to_text(c.hidden_states) + " " + to_text(c.topology);
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
  pillar.question = "Does " + context.candidate + " reach the target sooner than " +
                    context.current + " in the pipeline as it is?";
  pillar.rule = "For where the whole interval of the ratio of times to the target lies below " +
                number_text(kThreshold) + ", against where it lies above.";
  return pillar;
}

struct Ratios {
  PillarNumber batches, step;
};

Ratios measure(const KindPair& pair, const DecisionContext& context) {
  Ratios ratios{paired_ratio(pair, kStepsToTarget, steps_to_target), step_ratio(pair)};
  if (context.step_ratio) {
    ratios.step = {"seconds of a step, ratio, from the context", context.step_ratio->value,
                   context.step_ratio->low, context.step_ratio->high};
  }
  return ratios;
}

// Why no time can be told from the ratios, "" where it can; and what would help.
std::string obstacle(const KindPair& pair, const Ratios& ratios, std::string& settle) {
  if (const std::string refused = refusal_text(pair); !refused.empty()) return refused;
  if (std::isnan(ratios.batches.value)) {
    settle = "A target that all runs reach, or longer training.";
    return "Not every run reached the target (" + reached_text(*pair.current) + ", " +
           reached_text(*pair.candidate) + "), so there is no ratio of times.";
  }
  if (std::isnan(ratios.batches.low) || std::isnan(ratios.step.low))
    return "One seed gives no interval.";
  return "";
}

// The numbers of one pipeline; the last one is the ratio of times.
std::vector<PillarNumber> numbers_of(const Times& times, int64_t n,
                                     const DecisionContext& context) {
  const std::string where = place(times.current);
  const double now = times.current.seconds_to_target.value;
  const PipelineInterval& then = times.seconds;
  return {{"days to the target, " + where + ", " + context.current, now / 86400},
          {"days to the target, " + where + ", " + context.candidate, then.value / 86400,
           then.low / 86400, then.high / 86400, n},
          {"time to the target, " + where + ", ratio", then.value / now, then.low / now,
           then.high / now, n}};
}

std::string reason_text(const Ratios& ratios, const PillarNumber& deciding,
                        const PipelineCase& current, const DecisionContext& context) {
  std::string text = "With " + number_phrase(ratios.batches) + " times the steps and " +
                     number_phrase(ratios.step) + " times the seconds of a step, " +
                     context.candidate + " takes " + number_phrase(deciding) +
                     " times as long as " + context.current + " (" + place(current) +
                     "): a step may take " + share_text(current.free_slowdown) +
                     " longer at no cost there, and 1% fewer batches save " +
                     percent_text(current.fewer_batches_save) + " of the time.";
  if (deciding.n < kFewestSeeds)
    text += " Fewer than " + kFewestSeedsInWords + " seeds decide nothing.";
  return text;
}

}  // namespace

Pillar bottleneck_pillar(const std::vector<KindPair>& pairs, const DecisionContext& context) {
  Pillar pillar = asked(context);
  const KindPair* pair = longest(pairs);
  if (pair == nullptr) {
    pillar.reason = "No folder has a target and finished runs of both " + context.current +
                    " and " + context.candidate + " under equal training.";
    pillar.settle = "Both optimizers from the start with " + kFewestSeedsInWords +
                    " seeds, in a sweep with a target.";
    return pillar;
  }
  pillar.settle = "The same sweep with more seeds, and a step of " + context.candidate +
                  " timed on the production shapes (\"step_ratio\").";
  if (!pair->warnings.empty()) pillar.limits.push_back("Checks warn: " + pair->warnings + ".");
  pillar.origins = {origin_text(*pair)};
  const Ratios ratios = measure(*pair, context);
  pillar.numbers = {ratios.batches, ratios.step};
  note_operations(*pair, context, pillar);
  pillar.reason = obstacle(*pair, ratios, pillar.settle);
  if (!pillar.reason.empty()) return pillar;

  // The pipeline as it is comes first, and decides.
  const std::vector<Times> times = predict(context, ratios.batches, ratios.step);
  PillarNumber deciding;
  for (const Times& one : times) {
    const std::vector<PillarNumber> numbers = numbers_of(one, ratios.batches.n, context);
    pillar.numbers.insert(pillar.numbers.end(), numbers.begin(), numbers.end());
    if (&one == &times.front()) deciding = numbers.back();
  }
  pillar.balances = {{deciding, kThreshold, false}};
  decide_by(judge(deciding, kThreshold, false), pillar);
  pillar.reason = reason_text(ratios, deciding, times.front().current, context);
  return pillar;
}

Pillar bottleneck_behind_switch(const std::vector<KindPair>& pairs, const PillarNumber& batches,
                                const DecisionContext& context) {
  Pillar pillar;
  pillar.name = "bottleneck behind the switch";
  pillar.numbers = {batches};
  const KindPair* pair = longest(pairs);
  if (std::isnan(batches.value) || std::isnan(batches.low)) {
    pillar.reason = "No switch was measured whose runs reach the target behind it in every seed.";
    return pillar;
  }
  if (pair == nullptr && !context.step_ratio) {
    pillar.reason = "How long a step takes with either optimizer was not measured.";
    return pillar;
  }
  const PillarNumber step =
      context.step_ratio
          ? PillarNumber{"seconds of a step, ratio, from the context", context.step_ratio->value,
                         context.step_ratio->low, context.step_ratio->high}
          : step_ratio(*pair);
  if (std::isnan(step.low)) {
    pillar.reason = "One seed gives no interval.";
    return pillar;
  }
  const std::vector<Times> times = predict(context, batches, step);
  const PillarNumber deciding = numbers_of(times.front(), batches.n, context).back();
  pillar.numbers.push_back(deciding);
  decide_by(judge(deciding, kThreshold, false), pillar);
  pillar.reason = "Behind the switch it takes " + number_phrase(deciding) + " times as long.";
  return pillar;
}

}  // namespace draftlab

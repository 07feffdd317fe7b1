#include "reports/decision/time_ratio.h"

#include <algorithm>
#include <cmath>

#include "record/optimizer_kind.h"
#include "reports/decision/level_ratio.h"
#include "reports/pipeline/pipeline_findings.h"
#include "reports/stats/statistics.h"
#include "reports/study/probe.h"

namespace draftlab {
namespace {

double seconds_per_step(const Result& run) {
  return run.train_seconds / static_cast<double>(run.steps);
}

// The same geometric mean with the interval of other many seeds.
PillarNumber with_seeds(const PillarNumber& steps, int64_t seeds) {
  if (seeds == steps.n) return steps;
  const auto spread = [](int64_t n) {
    return student_t_quantile(0.975, n - 1) / std::sqrt(static_cast<double>(n));
  };
  const double factor = spread(seeds) / spread(steps.n);
  PillarNumber other = steps;
  other.n = seeds;
  other.low = steps.value * std::pow(steps.low / steps.value, factor);
  other.high = steps.value * std::pow(steps.high / steps.value, factor);
  return other;
}

PillarNumber time_at(const DecisionContext& context, const PillarNumber& steps, double step) {
  return time_ratios(context, steps, {"", step, step, step}).front().ratio;
}

}  // namespace

std::optional<PillarNumber> step_ratio(const KindPair* pair, const DecisionContext& context) {
  if (context.step_ratio) {
    return PillarNumber{"seconds of a step, ratio, from the context", context.step_ratio->value,
                        context.step_ratio->low, context.step_ratio->high};
  }
  if (pair == nullptr) return std::nullopt;
  const Result &current = *pair->current_runs().front(),
               &candidate = *pair->candidate_runs().front();
  if (!current.seconds_from_probe || !candidate.seconds_from_probe)
    return paired_ratio(pair->candidate_runs(), pair->current_runs(), "seconds of a step, ratio",
                        seconds_per_step);
  const StepTime a = step_time(*current.probe), b = step_time(*candidate.probe);
  return PillarNumber{"seconds of a step timed alone, ratio (interval: far quartiles)",
                      b.seconds() / a.seconds(), b.low / a.high, b.high / a.low,
                      std::min(a.n, b.n)};
}

std::vector<TimeRatio> time_ratios(const DecisionContext& context, const PillarNumber& steps,
                                   const PillarNumber& seconds) {
  const PipelineOptimizer& now = context.pipeline.optimizers.front();
  const double left = now.batches_to_target.value;
  const auto with_step = [&](double ratio) {
    PipelineSpec spec = context.pipeline;
    PipelineOptimizer candidate = now;
    candidate.name = context.candidate;
    candidate.step_seconds = now.step_seconds * ratio;
    candidate.update_seconds =
        std::clamp(now.update_seconds + now.step_seconds * (ratio - 1), 0., candidate.step_seconds);
    candidate.batches_to_target = {left * steps.value, left * steps.low, left * steps.high};
    spec.optimizers.push_back(candidate);
    return predict_pipeline(spec);
  };
  const auto fast = with_step(seconds.low), middle = with_step(seconds.value),
             slow = with_step(seconds.high);
  std::vector<TimeRatio> times;
  for (size_t i = 0; i + 1 < middle.size(); i += 2) {
    const std::string place = to_text(middle[i].hidden_states) + " " + to_text(middle[i].topology);
    const double before = middle[i].seconds_to_target.value;
    const double value = middle[i + 1].seconds_to_target.value,
                 low = fast[i + 1].seconds_to_target.low, high = slow[i + 1].seconds_to_target.high;
    constexpr double kDay = 86400;
    times.push_back(
        {place,
         {"days to the target, " + place + ", " + kind_title(context.current), before / kDay},
         {"days to the target, " + place + ", " + kind_title(context.candidate), value / kDay,
          low / kDay, high / kDay, steps.n},
         {"time to the target, " + place + ", ratio", value / before, low / before, high / before,
          steps.n},
         middle[i].free_slowdown,
         middle[i].fewer_batches_save});
  }
  return times;
}

std::vector<WhatIf> what_if(const DecisionContext& context, const PillarNumber& steps) {
  std::vector<WhatIf> all;
  for (const double ratio : {1.0, 1.25, 1.5, 2.0, 2.5, 3.0}) {
    for (const int64_t seeds : {steps.n, int64_t{5}, int64_t{10}}) {
      if (seeds < steps.n || (seeds == steps.n && !all.empty() && all.back().step_ratio == ratio &&
                              all.back().seeds == seeds))
        continue;
      const PillarNumber time = time_at(context, with_seeds(steps, seeds), ratio);
      all.push_back({ratio, seeds, time, judge(time, 1, false).verdict});
    }
  }
  return all;
}

double turning_step_ratio(const DecisionContext& context, const PillarNumber& steps) {
  double last = NAN;
  for (int hundredths = 100; hundredths <= 400; ++hundredths) {
    const double ratio = hundredths / 100.0;
    if (judge(time_at(context, steps, ratio), 1, false).verdict != Verdict::kFor) break;
    last = ratio;
  }
  return last;
}

}  // namespace draftlab

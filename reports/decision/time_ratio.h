#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "reports/decision/pillar.h"

namespace draftlab {

// Steps and seconds of a step, candidate over current, put through the context's pipelines.

// Seconds of a step: from the context where somebody timed it at scale; else of steps timed alone,
// whose far quartiles are the interval; else of the runs' own seconds, seed by seed;
// nothing without either.
std::optional<PillarNumber> step_ratio(const KindPair* pair, const DecisionContext& context);

// What one pipeline of the context makes of them.
struct TimeRatio {
  std::string place;  // "online disaggregated"
  PillarNumber current_days, candidate_days, ratio;
  double free_slowdown = 0;       // how much longer a step may take at no cost
  double fewer_batches_save = 0;  // share of the time that 1 % fewer batches save
};
// The context's own pipeline comes first. REQUIRES: both ratios have intervals.
std::vector<TimeRatio> time_ratios(const DecisionContext& context, const PillarNumber& steps,
                                   const PillarNumber& seconds);

// The verdict if a step took `step_ratio` times as long for certain, and if there had been `seeds`
// seeds with the same scatter.
struct WhatIf {
  double step_ratio = 0;
  int64_t seeds = 0;
  PillarNumber time;
  Verdict verdict = Verdict::kUndecided;
};
std::vector<WhatIf> what_if(const DecisionContext& context, const PillarNumber& steps);
// The largest ratio of steps' seconds (1 to 4, to 0.01) at which the whole interval of the time is
// still below 1; NaN: none.
double turning_step_ratio(const DecisionContext& context, const PillarNumber& steps);

}  // namespace draftlab

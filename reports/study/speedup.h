#pragma once

#include "reports/study/summary.h"

namespace draftlab {

// How many times less an arm needs than the reference for the plan's target, at one clock.
struct Speedup {
  // Median of the reference over that of the arm (statistics.h). Infinity or 0 where one of them
  // never arrives, NaN where neither does.
  double ratio;
  // Over the seeds that ended in both: how many these are, and in how many both arrived.
  int64_t seeds = 0, reached = 0;
  // Geometric mean of the ratios of runs with equal seeds, with the 95 % Student-t interval on
  // their logarithms. NaN unless both arrived in all of them; no interval for one.
  double mean, low, high;
};
Speedup speedup_at_target(const Setting& reference, const Setting& setting, Clock clock);

}  // namespace draftlab

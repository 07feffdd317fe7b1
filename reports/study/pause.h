#pragma once

#include <cstdint>
#include <vector>

#include "record/metrics.h"

namespace draftlab {

// A step that took far longer than steps of equal work: its process was stopped (Ctrl-Z, SIGSTOP),
// or the machine swapped or stood still.
struct Pause {
  int64_t step = 0;
  double seconds = 0;  // of the step
  double usual = 0;    // the median of steps of equal work
};

// The steps of one segment that took over ten times the median of those a whole number of periods
// apart (step_period), and over a second more. Fewer than five such steps tell nothing. In order of
// period and step.
std::vector<Pause> pauses(const std::vector<StepRow>& steps, int64_t period);

}  // namespace draftlab

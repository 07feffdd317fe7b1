#pragma once

#include <map>
#include <string>

#include "record/plan.h"
#include "record/run_folder.h"
#include "record/timing.h"
#include "reports/study/result.h"

namespace draftlab {

// How long a training step takes alone, of the samples of a timing: single steps, or the mean steps
// of whole periods.
struct StepTime {
  // The medians of the parts, all multiplied by one factor so that they sum to the median of the
  // whole step, which the medians of parts need not do.
  StepTimes parts;
  double low = 0, high = 0;  // quartiles of the whole step, interpolated
  int64_t n = 0;             // samples

  double seconds() const { return parts.total(); }
  double spread() const { return (high - low) / seconds(); }
};
StepTime step_time(const Timing& timing);

// What segments that were timed in turn tell of the machine: their forward passes are the same
// work, so that where two medians are further apart than the quartiles of either (and than 2 %),
// something else was running. "" where they agree; else which, and by how much. Of timings with
// equal forward_identity().
struct NamedTiming {
  std::string name;
  Timing timing;
};
std::string uneven_control(const std::vector<NamedTiming>& timings);

// "0.215 s (quartiles 0.213 to 0.219, n 20)"
std::string step_time_text(const StepTime& time);

// The timings in a result folder by step_identity(); of several the first in the plan's order. One
// that cannot be read is left out here: load_results() makes its run unreadable.
using Timings = std::map<std::string, Timing>;
Timings load_timings(const RunFolder& folder, const PlanRecord& plan);

// Sets Result::probe. Where the run was not alone and each of its stages has a timing, all seconds
// become steps times the median step of the stage: they are what the run would have taken alone.
void apply_timings(const Timings& timings, Result& result);

}  // namespace draftlab

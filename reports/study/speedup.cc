#include "reports/study/speedup.h"

#include <cmath>
#include <vector>

namespace draftlab {
namespace {

// Runs that ended by themselves, which is when their time is known.
bool ended(const Result& run, Clock clock) {
  return run.to_target(clock) && (run.done() || run.diverged());
}

}  // namespace

Speedup speedup_at_target(const Setting& reference, const Setting& setting, Clock clock) {
  Speedup result{
      speedup(reference.target.median(clock), setting.target.median(clock)), 0, 0, NAN, NAN, NAN};
  std::vector<double> logarithms;
  for (const Result* a : reference.runs) {
    for (const Result* b : setting.runs) {
      if (!(a->seeds == b->seeds) || !ended(*a, clock) || !ended(*b, clock)) continue;
      ++result.seeds;
      const double from = *a->to_target(clock), to = *b->to_target(clock);
      if (!std::isfinite(from) || !std::isfinite(to)) continue;
      ++result.reached;
      logarithms.push_back(std::log(from / to));
    }
  }
  if (result.reached < result.seeds) return result;
  const Estimate mean = estimate(logarithms);
  result.mean = std::exp(mean.mean);
  result.low = std::exp(mean.low);
  result.high = std::exp(mean.high);
  return result;
}

}  // namespace draftlab

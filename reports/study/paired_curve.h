#pragma once

#include <cstdint>
#include <vector>

#include "reports/stats/statistics.h"
#include "reports/study/result.h"

namespace draftlab {

// The difference D(t) = `a` - `b` of a held-out measure for every seed that both have, at the
// evaluations that all those runs have.
struct PairedCurve {
  std::vector<int64_t> steps;                // rising
  std::vector<Seeds> seeds;                  // in the order of `a`
  std::vector<std::vector<double>> of_seed;  // [seed][step]
  std::vector<Estimate> mean;                // [step]; paired t intervals
};
PairedCurve paired_curve(const std::vector<const Result*>& a, const std::vector<const Result*>& b,
                         Measure measure);

// How long a curve of a loss stays above 0 after a step `from`. A NaN is neither above nor below:
// from it on nothing is known, so that no return before it counts.
struct Transient {
  int64_t peak_step = 0;  // after `from`, where the mean is largest; the first of equals
  Estimate peak;          // the mean there; everything NaN where a mean after `from` is one
  // Steps from `from` to the first evaluation from which on the mean, or one seed, is below 0 to
  // the end; infinity: it is not below 0 at the end.
  double length = 0;
  std::vector<double> length_of_seed;
};
// Nothing was evaluated after `from`: peak.n is 0, lengths are infinite.
Transient transient_after(const PairedCurve& curve, int64_t from);

// What one more token accepted in one held-out block would change of a mean over blocks: a
// difference of less between two trainings cannot be seen, so their spread is not taken to be less.
// 0: how many blocks there are is not known.
double one_block(const std::vector<const Result*>& a, const std::vector<const Result*>& b);

// Differences of the last planned evaluation, over the seeds that both have.
Estimate final_difference(const std::vector<const Result*>& a, const std::vector<const Result*>& b,
                          Measure measure);

}  // namespace draftlab

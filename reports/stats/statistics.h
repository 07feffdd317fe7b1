#pragma once

#include <cstdint>
#include <vector>

#include "reports/stats/claim.h"

namespace draftlab {

// Pure functions over the numbers of several runs. A NaN among the values makes the answer NaN: a
// run without a number is never left out in silence.

// Mean of `n` values with the standard deviation of one value and the 95 % Student-t interval of
// the mean. sd, low and high are NaN below two values; everything is NaN for none.
struct Estimate {
  int64_t n = 0;
  double mean, sd, low, high;
};
Estimate estimate(const std::vector<double>& values);

// The point of Student's distribution that leaves 1 - `probability` above it.
double student_t_quantile(double probability, int64_t degrees_of_freedom);

// Infinity (not reached) may be among the values and may be the answer. NaN for none.
double median(std::vector<double> values);

struct Point {
  double x = 0, y = 0;
};

// The y at `x` of the straight lines through `points` (x rising); NaN outside of them.
double interpolate(const std::vector<Point>& points, double x);

// Where the straight lines through `points` come to `level` from the worse side and stay there for
// two points in a row, so that one lucky evaluation is not enough; infinity if they never do. The
// first point counts if it is there already. A gap (NaN) is not bridged: the point after it counts
// by itself.
double first_crossing(const std::vector<Point>& points, double level, bool lower_is_better);

// Student's t of paired differences: their mean over its standard error. NaN where there is no sd
// or it is 0.
double t_value(const Estimate& differences);

// Two-sided p of Student's one-sample t test that the mean is 0; of paired differences this is the
// paired t test. `least_sd`: what the values are too coarse to fall below; equal values would
// otherwise be sure of any difference. NaN where there is no sd; 1 where all values are 0.
double p_value(const Estimate& differences, double least_sd = 0);

// p of the two one-sided t tests (Schuirmann 1987) that the mean lies outside of +-`margin`: small
// where it is surely within. NaN where there is no sd.
double equivalence_p(const Estimate& differences, double margin, double least_sd = 0);

// The Student-t interval of the mean that leaves `level` outside of it; 0.05 for that of Estimate.
Estimate at_level(const Estimate& differences, double level, double least_sd = 0);

// The smallest true mean that this test, two-sided at `level`, finds with probability `power` in
// `n` values of this sd, or of `least_sd` where that is more: the non-central t distribution (Cohen
// 1988, section 2). NaN without an sd.
double detectable_difference(const Estimate& differences, double level = kClaimLevel,
                             double least_sd = 0, double power = 0.8);

// Holm's step-down adjustment (1979), in the order of `p`: below `level` after adjusting is a claim
// with all of `p` made at once. A NaN stays one and counts as a comparison all the same.
std::vector<double> holm(const std::vector<double>& p);

// The same for questions with two null hypotheses of which one at most is true: that the means are
// equal (`p`), and that they are further apart than a margin (`beyond`). Each p is multiplied by
// how many questions may still hold a true one (Shaffer 1986, procedure S1): a question leaves when
// both of its own are rejected, or its only one where the other was never asked. Adjusts in place;
// a NaN was not asked, and a question of two NaNs counts all the same.
void holm_in_pairs(std::vector<double>& p, std::vector<double>& beyond);

// The interval that excludes 0 just where `adjusted_p` is at most the level of a claim. Where p
// says nothing of how it was adjusted (NaN, 0), it is that for all `comparisons`.
Estimate interval_of_claim(const Estimate& differences, double p, double adjusted_p,
                           int64_t comparisons, double least_sd = 0);

// Entry k - 1: the expected best of k different ones of `values`, exact over all choices of k. A
// NaN (a diverged trial) is worse than every number, and an entry is NaN where all k may be such.
std::vector<double> expected_best(std::vector<double> values, bool lower_is_better);

// How many times less `other` needs than `reference`, in whatever unit. Infinity (never) may be
// among them; NaN if neither gets there.
double speedup(double reference, double other);

}  // namespace draftlab

#pragma once

#include <cstdint>
#include <vector>

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

// Where the straight lines through `points` first come to `level` from the worse side; infinity if
// they never do. The first point counts if it is there already. A gap (NaN) is not bridged: the
// point after it counts by itself.
double first_crossing(const std::vector<Point>& points, double level, bool lower_is_better);

}  // namespace draftlab

#pragma once

#include <vector>

#include "reports/study/result.h"

namespace draftlab {

// Held-out values of `runs` at every step that all of them evaluated; x is the step, or the mean of
// the tokens or seconds at that step. A NaN of one run makes the estimate NaN there.
struct CurvePoint {
  double x = 0;
  Estimate y;
};
std::vector<CurvePoint> curve_estimates(const std::vector<const Result*>& runs, Measure measure,
                                        Clock clock);
std::vector<Point> means(const std::vector<CurvePoint>& curve);

// Mean of curves at each x that all of them have. A NaN of one makes the mean NaN there.
std::vector<Point> mean_at_common_x(const std::vector<std::vector<Point>>& curves);

// Prefix shares of the last held-out evaluation: x is the slot k, y the share of blocks whose
// slots 1..k are all right.
std::vector<Point> survival(const Result& run);
std::vector<Point> mean_survival(const std::vector<const Result*>& runs);
// Of such shares: of the blocks whose slots 1..k-1 are all right, the share whose slot k is too.
// NaN where there is no such block.
std::vector<Point> given_the_ones_before(const std::vector<Point>& survival);

}  // namespace draftlab

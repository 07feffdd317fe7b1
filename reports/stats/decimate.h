#pragma once

#include <cstddef>
#include <vector>

#include "reports/stats/statistics.h"

namespace draftlab {

// For drawing only: of `points` (x rising) those that a line through all of them needs at `bins`
// columns of equal width, in their order. Of each unbroken stretch of finite points these are in
// every column the first, the last, the lowest and the highest; between two stretches one of the
// points that are not finite stays, so that a gap stays a gap. At most 4 `bins` points and 5 for
// each gap; with no more than 2 `bins` points nothing is left out.
std::vector<Point> decimated(const std::vector<Point>& points, size_t bins);

}  // namespace draftlab

#include "reports/decision/level_ratio.h"

#include <algorithm>
#include <cmath>

#include "base/number_text.h"
#include "reports/stats/statistics.h"

namespace draftlab {
namespace {

const MeasureKind& measure_of(const TargetLevel& target) {
  return *std::ranges::find(measure_kinds(), target.metric, &MeasureKind::key);
}

std::vector<Point> curve_from(const Result& run, Measure measure, int64_t from) {
  std::vector<Point> points = run.curve(measure, Clock::kSteps);
  std::erase_if(points, [&](const Point& point) { return point.x < static_cast<double>(from); });
  for (Point& point : points) point.x -= static_cast<double>(from);
  return points;
}

// The best level that the curve reaches as first_crossing asks: at two points in a row.
double best_level(const std::vector<Point>& points, Measure measure) {
  double best = NAN;
  for (size_t i = 0; i + 1 < points.size(); ++i) {
    if (std::isnan(points[i].y) || std::isnan(points[i + 1].y)) continue;
    const bool first_is_better = better(measure, points[i].y, points[i + 1].y);
    const double worse = first_is_better ? points[i + 1].y : points[i].y;
    if (better(measure, worse, best)) best = worse;
  }
  return best;
}

}  // namespace

PillarNumber paired_ratio(const std::vector<const Result*>& candidate,
                          const std::vector<const Result*>& current, const std::string& what,
                          const std::function<double(const Result&)>& of) {
  std::vector<double> logs;
  bool endless = false;
  for (const Result* run : candidate) {
    for (const Result* other : current) {
      if (!(run->seeds == other->seeds)) continue;
      const double ratio = of(*run) / of(*other);
      endless |= !std::isfinite(std::log(ratio)) || std::isinf(of(*run));
      logs.push_back(std::log(ratio));
    }
  }
  PillarNumber number{what, NAN};
  number.n = static_cast<int64_t>(logs.size());
  if (endless || logs.empty()) return number;
  const Estimate mean = estimate(logs);
  number.value = std::exp(mean.mean);
  number.low = std::exp(mean.low);
  number.high = std::exp(mean.high);
  return number;
}

std::vector<LevelRatio> level_ratios(const std::vector<const Result*>& candidate,
                                     const std::vector<const Result*>& current,
                                     const TargetLevel& target, int64_t from) {
  constexpr int kLevels = 5;
  const MeasureKind& kind = measure_of(target);
  double highest = kind.lower_is_better ? -INFINITY : INFINITY;
  for (const auto* runs : {&candidate, &current}) {
    for (const Result* run : *runs) {
      const double best = best_level(curve_from(*run, kind.measure, from), kind.measure);
      if (!better(kind.measure, best, highest)) highest = best;
    }
  }
  const bool reached = !better(kind.measure, target.value, highest) && std::isfinite(highest);
  std::vector<LevelRatio> ratios;
  for (int i = kLevels; i-- > 0;) {
    const double level = reached ? i == kLevels - 1
                                       ? highest
                                       : target.value + (highest - target.value) * i / (kLevels - 1)
                                 : target.value;
    ratios.push_back(
        {level, paired_ratio(candidate, current,
                             "steps to " + kind.name + " " + significant(level, 4) + ", ratio",
                             [&](const Result& run) {
                               return first_crossing(curve_from(run, kind.measure, from), level,
                                                     kind.lower_is_better);
                             })});
    if (!reached || highest == target.value) break;
  }
  return ratios;
}

}  // namespace draftlab

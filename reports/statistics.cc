#include "reports/statistics.h"

#include <algorithm>
#include <boost/math/distributions/students_t.hpp>
#include <cmath>
#include <limits>

namespace draftlab {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

}  // namespace

double student_t_quantile(double probability, int64_t degrees_of_freedom) {
  const boost::math::students_t distribution(static_cast<double>(degrees_of_freedom));
  return boost::math::quantile(distribution, probability);
}

Estimate estimate(const std::vector<double>& values) {
  Estimate result{static_cast<int64_t>(values.size()), kNaN, kNaN, kNaN, kNaN};
  if (values.empty()) return result;
  const double n = static_cast<double>(values.size());
  double sum = 0;
  for (double value : values) sum += value;
  result.mean = sum / n;
  if (values.size() < 2 || !std::isfinite(result.mean)) return result;
  double squares = 0;
  for (double value : values) squares += (value - result.mean) * (value - result.mean);
  result.sd = std::sqrt(squares / (n - 1));
  const double half = student_t_quantile(0.975, result.n - 1) * result.sd / std::sqrt(n);
  result.low = result.mean - half;
  result.high = result.mean + half;
  return result;
}

double median(std::vector<double> values) {
  if (values.empty()) return kNaN;
  for (double value : values) {
    if (std::isnan(value)) return kNaN;
  }
  std::sort(values.begin(), values.end());
  const size_t middle = values.size() / 2;
  if (values.size() % 2 == 1 || values[middle - 1] == values[middle]) return values[middle];
  return (values[middle - 1] + values[middle]) / 2;
}

double interpolate(const std::vector<Point>& points, double x) {
  for (size_t i = 0; i < points.size(); ++i) {
    if (points[i].x == x) return points[i].y;
    if (i == 0 || !(points[i - 1].x < x && x < points[i].x)) continue;
    const double share = (x - points[i - 1].x) / (points[i].x - points[i - 1].x);
    return points[i - 1].y + share * (points[i].y - points[i - 1].y);
  }
  return kNaN;
}

double first_crossing(const std::vector<Point>& points, double level, bool lower_is_better) {
  for (size_t i = 0; i < points.size(); ++i) {
    const Point& here = points[i];
    if (!(lower_is_better ? here.y <= level : here.y >= level)) continue;  // NaN is not there
    if (i == 0 || !std::isfinite(points[i - 1].y) || !std::isfinite(here.y)) return here.x;
    const Point& before = points[i - 1];
    return before.x + (level - before.y) / (here.y - before.y) * (here.x - before.x);
  }
  return std::numeric_limits<double>::infinity();
}

}  // namespace draftlab

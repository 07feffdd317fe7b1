#include "reports/study/curve.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <utility>

namespace draftlab {
namespace {

// Point by point over curves of equal length.
std::vector<Point> mean(const std::vector<std::vector<Point>>& curves) {
  std::vector<Point> points;
  if (curves.empty()) return points;
  const double n = static_cast<double>(curves.size());
  for (size_t i = 0; i < curves.front().size(); ++i) {
    Point point;
    for (const auto& curve : curves) {
      point.x += curve[i].x / n;
      point.y += curve[i].y / n;
    }
    points.push_back(point);
  }
  return points;
}

// The steps that all of them evaluated, in rising order.
std::vector<int64_t> common_steps(const std::vector<const Result*>& runs) {
  std::vector<int64_t> common;
  for (const Result* run : runs) {
    std::vector<int64_t> steps, both;
    for (const EvaluationRow& row : run->held_out) steps.push_back(row.step);
    if (run == runs.front()) {
      common = std::move(steps);
      continue;
    }
    std::set_intersection(common.begin(), common.end(), steps.begin(), steps.end(),
                          std::back_inserter(both));
    common = std::move(both);
  }
  return common;
}

}  // namespace

std::vector<CurvePoint> curve_estimates(const std::vector<const Result*>& runs, Measure measure,
                                        Clock clock) {
  const std::vector<int64_t> steps = common_steps(runs);
  std::vector<CurvePoint> points(steps.size());
  std::vector<std::vector<double>> values(steps.size());
  const double n = static_cast<double>(runs.size());
  for (const Result* run : runs) {
    size_t row = 0;
    for (size_t i = 0; i < steps.size(); ++i) {
      while (run->held_out[row].step != steps[i]) ++row;
      points[i].x += time_of(run->held_out[row], clock) / n;
      values[i].push_back(value_of(run->held_out[row], measure));
    }
  }
  for (size_t i = 0; i < points.size(); ++i) points[i].y = estimate(values[i]);
  return points;
}

std::vector<Point> means(const std::vector<CurvePoint>& curve) {
  std::vector<Point> points;
  for (const CurvePoint& point : curve) points.push_back({point.x, point.y.mean});
  return points;
}

std::vector<Point> mean_at_common_x(const std::vector<std::vector<Point>>& curves) {
  std::map<double, std::pair<size_t, double>> sums;  // at each x: how many curves, and their sum
  for (const auto& curve : curves) {
    for (const Point& point : curve) {
      auto& [count, sum] = sums[point.x];
      ++count;
      sum += point.y;
    }
  }
  std::vector<Point> points;
  for (const auto& [x, sum] : sums) {
    if (sum.first == curves.size())
      points.push_back({x, sum.second / static_cast<double>(sum.first)});
  }
  return points;
}

std::vector<Point> survival(const Result& run) {
  std::vector<Point> points;
  if (run.held_out.empty()) return points;
  const std::vector<double>& shares = run.held_out.back().prefix_share;
  for (size_t k = 0; k < shares.size(); ++k) {
    points.push_back({static_cast<double>(k + 1), shares[k]});
  }
  return points;
}

std::vector<Point> mean_survival(const std::vector<const Result*>& runs) {
  std::vector<std::vector<Point>> curves;
  for (const Result* run : runs) curves.push_back(survival(*run));
  for (const auto& curve : curves) {
    if (curve.size() != curves.front().size()) return {};
  }
  return mean(curves);
}

std::vector<Point> given_the_ones_before(const std::vector<Point>& survival) {
  std::vector<Point> points;
  double before = 1;
  for (const Point& point : survival) {
    points.push_back({point.x, before > 0 ? point.y / before : NAN});
    before = point.y;
  }
  return points;
}

}  // namespace draftlab

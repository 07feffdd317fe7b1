#include "reports/curve.h"

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

bool evaluated(const Result& run, int64_t step) {
  for (const EvaluationRow& row : run.held_out) {
    if (row.step == step) return true;
  }
  return false;
}

}  // namespace

std::vector<Point> mean_curve(const std::vector<const Result*>& runs, Measure measure,
                              Clock clock) {
  std::vector<std::vector<Point>> curves;
  for (const Result* run : runs) {
    const std::vector<Point> whole = run->curve(measure, clock);
    std::vector<Point> common;
    for (size_t i = 0; i < whole.size(); ++i) {
      bool by_all = true;
      for (const Result* other : runs) by_all &= evaluated(*other, run->held_out[i].step);
      if (by_all) common.push_back(whole[i]);
    }
    curves.push_back(std::move(common));
  }
  return mean(curves);
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

}  // namespace draftlab

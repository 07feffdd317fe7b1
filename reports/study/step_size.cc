#include "reports/study/step_size.h"

#include <algorithm>
#include <cmath>

#include "reports/study/curve.h"

namespace draftlab {

std::vector<std::string> matrix_kinds(const Result& run) {
  std::vector<std::string> kinds;
  for (const Route& route : run.config.routing) {
    const std::string kind = tensor_kind(route.name);
    if (route.shape.size() == 2 && std::find(kinds.begin(), kinds.end(), kind) == kinds.end())
      kinds.push_back(kind);
  }
  return kinds;
}

std::vector<std::string> matrix_kinds(const Summary& summary) {
  std::vector<std::string> kinds;
  for (const Arm& arm : summary.arms) {
    for (const std::string& kind : matrix_kinds(example_run(arm))) {
      if (std::find(kinds.begin(), kinds.end(), kind) == kinds.end()) kinds.push_back(kind);
    }
  }
  return kinds;
}

std::vector<Point> ratio_curve(const Result& run, const std::string& kind) {
  std::vector<Point> points;
  for (const UpdateRow& row : run.updates) {
    if (row.kind != kind) continue;
    const auto steps = std::ranges::lower_bound(run.gradients, row.step, {}, &GradientRow::step);
    if (steps != run.gradients.end() && steps->step == row.step)
      points.push_back({static_cast<double>(row.step), row.ratio() / steps->schedule});
  }
  return points;
}

StepSize step_size(const std::vector<const Result*>& runs) {
  StepSize size;
  if (runs.empty()) return size;
  std::vector<double> values;
  for (const std::string& kind : matrix_kinds(*runs.front())) {
    std::vector<std::vector<Point>> curves;
    for (const Result* run : runs) curves.push_back(ratio_curve(*run, kind));
    const std::vector<Point> mean = mean_at_common_x(curves);
    if (mean.empty()) continue;
    size.step = mean.front().x;
    values.push_back(mean.front().y);
  }
  size.value = median(values);
  return size;
}

std::vector<DeadKind> dead_kinds(const std::vector<const Result*>& runs) {
  constexpr double kDead = 0.01;
  if (runs.empty()) return {};
  std::vector<std::string> kinds;
  std::vector<double> moves;  // of each of them
  for (const std::string& kind : matrix_kinds(*runs.front())) {
    std::vector<double> ratios;
    for (const Result* run : runs) {
      for (const UpdateRow& row : run->updates) {
        // Zeros that stayed zeros have no ratio, and have not moved.
        if (row.kind == kind && row.update_rms == 0 && row.weight_rms == 0) ratios.push_back(0);
      }
      for (const Point& point : ratio_curve(*run, kind))
        if (std::isfinite(point.y)) ratios.push_back(point.y);
    }
    if (ratios.empty()) continue;
    kinds.push_back(kind);
    moves.push_back(median(ratios));
  }
  std::vector<DeadKind> dead;
  const double usual = median(moves);
  for (size_t i = 0; i < kinds.size(); ++i)
    if (moves[i] < kDead * usual) dead.push_back({kinds[i], moves[i] / usual});
  return dead;
}

}  // namespace draftlab

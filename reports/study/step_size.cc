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

}  // namespace draftlab

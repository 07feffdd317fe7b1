#include <algorithm>
#include <cmath>
#include <map>

#include "base/number_text.h"
#include "reports/charts/chart.h"
#include "reports/charts/drawing.h"
#include "reports/charts/label.h"

namespace draftlab {
namespace {

constexpr double kWidth = 480, kLeft = 132, kRight = 14, kTop = 34, kBottom = 42, kRow = 46;
constexpr double kStrip = 84;  // width of the strip for values that are not finite

// Mean with its interval, below the row's dots.
void draw_estimate(const DotRow& row, const Axis& x, double y, Drawing& drawing) {
  const Estimate& e = row.estimate;
  if (!x.shows(e.mean)) return;
  if (e.n >= kFewestForInterval) {
    drawing.line(x.at(e.low), y, x.at(e.high), y, "interval " + colour_class(row.look));
  }
  drawing.line(x.at(e.mean), y - 5, x.at(e.mean), y + 5, "average " + colour_class(row.look));
}

}  // namespace

std::string svg(const DotChart& chart) {
  std::vector<double> xs;
  bool strip = false;
  for (const DotRow& row : chart.rows) {
    for (double value : row.values) {
      xs.push_back(value);
      strip |= !std::isfinite(value);
    }
    if (row.estimate.n < kFewestForInterval) continue;
    xs.push_back(row.estimate.low);
    xs.push_back(row.estimate.high);
  }
  const double height = kTop + kRow * static_cast<double>(chart.rows.size()) + kBottom;
  const double bottom = height - kBottom;
  const double right = kWidth - kRight - (strip ? kStrip : 0);
  const Axis x(Scale::kLinear, xs, kLeft, right);

  Drawing drawing(chart.text.id, chart.text.title, chart.text.description, kWidth, height);
  drawing.text(0, 15, chart.text.title, "title");
  if (!chart.text.mark.empty()) drawing.text(kWidth - kRight, 15, chart.text.mark, "mark end");
  if (strip) {
    drawing.rectangle(right + 4, kTop, kStrip - 4, bottom - kTop, "strip");
    drawing.text(right + 2 + kStrip / 2, bottom + 17, chart.strip, "tick middle");
  }
  for (const Tick& tick : without_overlap(x.ticks(6), x)) {
    drawing.line(x.at(tick.value), kTop, x.at(tick.value), bottom, "grid");
    drawing.text(x.at(tick.value), bottom + 17, tick.label, "tick middle");
  }
  drawing.line(kLeft, bottom, right, bottom, "axis");
  drawing.text((kLeft + right) / 2, height - 7, chart.text.x_label, "label middle");

  std::map<std::string, std::vector<Point>> of_seed;
  const auto dots_of = [&](size_t i) { return kTop + kRow * (static_cast<double>(i) + 0.42); };
  for (size_t i = 0; i < chart.rows.size(); ++i) {
    for (size_t j = 0; j < chart.rows[i].values.size(); ++j) {
      const double value = chart.rows[i].values[j];
      if (!std::isfinite(value)) continue;
      of_seed[chart.rows[i].seeds[j]].push_back({x.at(value), dots_of(i)});
    }
  }
  for (const auto& [seed, points] : of_seed) {
    if (points.size() > 1) drawing.path(points, "pair-line");
  }

  std::vector<std::string> names;
  for (const DotRow& row : chart.rows) names.push_back(row.name);
  names = fitted(names, kLeft - 12, 13);
  for (size_t i = 0; i < chart.rows.size(); ++i) {
    const DotRow& row = chart.rows[i];
    const double y = dots_of(i);
    drawing.text(kLeft - 10, y + 9, names[i], "rowname end");
    draw_estimate(row, x, y + 15, drawing);
    double next_cross = right + 16;
    const double spacing = std::min(14.0, (kStrip - 28) / static_cast<double>(row.values.size()));
    for (size_t j = 0; j < row.values.size(); ++j) {
      const std::string tip =
          row.name + ", seed " + row.seeds[j] + ": " + significant(row.values[j], 4);
      if (std::isfinite(row.values[j])) {
        drawing.marker(row.look, x.at(row.values[j]), y, 4, tip);
      } else {
        drawing.cross(row.look, next_cross, y, 4, tip);
        next_cross += spacing;
      }
    }
  }
  return drawing.svg();
}

}  // namespace draftlab

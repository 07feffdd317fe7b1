#include <algorithm>
#include <cmath>
#include <map>

#include "base/number_text.h"
#include "reports/chart.h"
#include "reports/drawing.h"

namespace draftlab {
namespace {

constexpr double kLeft = 52, kRight = 14, kTop = 34, kBottom = 42;
constexpr size_t kMostMarkers = 16;
constexpr double kStrip = 22;  // height of the strip for diverged runs

// Pixels of the drawing.
double width_of(const LineChart& chart) { return chart.small ? 300 : 480; }
double height_of(const LineChart& chart) { return chart.small ? 200 : 300; }

std::vector<Point> to_pixels(const std::vector<Point>& points, const Axis& x, const Axis& y) {
  std::vector<Point> pixels;
  for (const Point& point : points) {
    const bool shown = x.shows(point.x) && y.shows(point.y);
    pixels.push_back({x.at(point.x), shown ? y.at(point.y) : std::nan("")});
  }
  return pixels;
}

std::string tip(const Series& series, const Point& point) {
  return series.name + ": " + significant(point.y, 4) + " at " + significant(point.x, 4);
}

void draw_grid(const LineChart& chart, const Axis& x, const Axis& y, Drawing& drawing) {
  const double right = width_of(chart) - kRight, bottom = height_of(chart) - kBottom;
  for (const Tick& tick : y.ticks(chart.small ? 4 : 6)) {
    drawing.line(kLeft, y.at(tick.value), right, y.at(tick.value), "grid");
    drawing.text(kLeft - 7, y.at(tick.value) + 4, tick.label, "tick end");
  }
  const std::vector<Tick> ticks =
      chart.x_ticks.empty() ? x.ticks(chart.small ? 4 : 7) : chart.x_ticks;
  drawing.line(kLeft, bottom, right, bottom, "axis");
  for (const Tick& tick : without_overlap(ticks, x)) {
    drawing.line(x.at(tick.value), bottom, x.at(tick.value), bottom + 4, "axis");
    drawing.text(x.at(tick.value), bottom + 17, tick.label, "tick middle");
  }
  drawing.text((kLeft + right) / 2, height_of(chart) - 7, chart.text.x_label, "label middle");
}

void draw_levels(const LineChart& chart, const Axis& y, Drawing& drawing) {
  std::vector<Level> levels = chart.levels;
  std::sort(levels.begin(), levels.end(), [](const Level& a, const Level& b) { return a.y > b.y; });
  const double right = width_of(chart) - kRight;
  double last_label = -1e9;
  for (const Level& level : levels) {
    if (!y.shows(level.y)) continue;
    const double at = y.at(level.y);
    drawing.line(kLeft, at, right, at, "level");
    // Above the line, unless that would cover the label of the level above or leave the plot.
    double label = at - 4;
    if (label - last_label < 14 || label < y.end() + 8) label = at + 13;
    drawing.text(right - 2, label, level.label, "level-label halo end");
    last_label = label;
  }
}

void draw_series(const LineChart& chart, const Axis& x, const Axis& y, Drawing& drawing) {
  // Thin lines and small dots first, so that means stay on top.
  for (const Series& series : chart.series) {
    if (series.stroke == Series::Stroke::kSeed)
      drawing.path(to_pixels(series.points, x, y), "seed " + colour_class(series.look));
    if (series.stroke != Series::Stroke::kFaint) continue;
    for (const Point& point : series.points) {
      if (x.shows(point.x) && y.shows(point.y))
        drawing.circle(x.at(point.x), y.at(point.y), 2, "faint");
    }
  }
  for (const Series& series : chart.series) {
    if (series.stroke == Series::Stroke::kSeed || series.stroke == Series::Stroke::kFaint) continue;
    if (series.stroke != Series::Stroke::kDots) {
      drawing.path(to_pixels(series.points, x, y), "mean " + colour_class(series.look),
                   dash_pattern(series.look));
    }
    if (series.stroke == Series::Stroke::kLine) continue;
    const bool mean = series.stroke == Series::Stroke::kMean;
    const double size = mean ? 4 : 3;
    // A mean of many evaluations is marked here and there, and at its end.
    const size_t every = mean ? 1 + series.points.size() / kMostMarkers : 1;
    for (size_t i = 0; i < series.points.size(); ++i) {
      const Point& point = series.points[i];
      if ((series.points.size() - 1 - i) % every != 0) continue;
      if (!x.shows(point.x) || !y.shows(point.y)) continue;
      drawing.marker(series.look, x.at(point.x), y.at(point.y), size, tip(series, point));
    }
  }
}

void draw_diverged(const LineChart& chart, const Axis& x, Drawing& drawing) {
  if (chart.diverged.empty()) return;
  const double middle = kTop + kStrip / 2;
  drawing.rectangle(kLeft, kTop, width_of(chart) - kRight - kLeft, kStrip, "strip");
  drawing.text(kLeft - 7, middle + 4, "diverged", "small end");
  std::map<double, int> crosses_at;
  for (const DivergedRuns& runs : chart.diverged) {
    const double at = x.at(runs.x) + 22 * crosses_at[runs.x]++;
    const std::string count = std::to_string(runs.count);
    drawing.cross(runs.look, at, middle, 4,
                  runs.name + ": " + count + " diverged at " + number_text(runs.x));
    if (runs.count > 1) drawing.text(at + 7, middle + 4, count, "small");
  }
}

}  // namespace

void use_log_scale_if_wide(LineChart& chart) {
  double low = INFINITY, high = 0;
  for (const Series& series : chart.series) {
    for (const Point& point : series.points) {
      if (!std::isfinite(point.y)) continue;
      low = std::min(low, point.y);
      high = std::max(high, point.y);
    }
  }
  if (low <= 0 || high < 2 * low) return;
  chart.y_scale = Scale::kLog;
  chart.text.title += " (log scale)";
}

std::string svg(const LineChart& chart) {
  std::vector<double> xs, ys;
  for (const Tick& tick : chart.x_ticks) xs.push_back(tick.value);
  for (const Series& series : chart.series) {
    for (const Point& point : series.points) {
      if (!std::isfinite(point.y)) continue;
      xs.push_back(point.x);
      ys.push_back(point.y);
    }
  }
  for (const DivergedRuns& runs : chart.diverged) xs.push_back(runs.x);
  for (const Level& level : chart.levels) ys.push_back(level.y);
  if (chart.y_from_zero) ys.push_back(0);
  const double plot_top = kTop + (chart.diverged.empty() ? 0 : kStrip + 4);
  const double width = width_of(chart), height = height_of(chart);
  const Axis x(chart.x_scale, xs, kLeft, width - kRight);
  const Axis y(chart.y_scale, ys, height - kBottom, plot_top);

  Drawing drawing(chart.text.id, chart.text.title, chart.text.description, width, height);
  drawing.text(0, 15, chart.text.title, "title");
  if (!chart.text.mark.empty()) drawing.text(width - kRight, 15, chart.text.mark, "mark end");
  draw_grid(chart, x, y, drawing);
  draw_diverged(chart, x, drawing);
  draw_levels(chart, y, drawing);
  draw_series(chart, x, y, drawing);
  for (const Ring& ring : chart.rings) {
    if (!x.shows(ring.at.x) || !y.shows(ring.at.y)) continue;
    drawing.circle(x.at(ring.at.x), y.at(ring.at.y), 9, "ring " + colour_class(ring.look));
  }
  return drawing.svg();
}

}  // namespace draftlab

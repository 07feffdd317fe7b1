#include <algorithm>
#include <cmath>
#include <map>

#include "base/number_text.h"
#include "reports/charts/chart.h"
#include "reports/charts/drawing.h"
#include "reports/charts/label.h"
#include "reports/stats/decimate.h"
#include "reports/text/html.h"

namespace draftlab {
namespace {

constexpr double kLeft = 52, kRight = 14, kTop = 34, kBottom = 42;
constexpr size_t kMostMarkers = 16;
constexpr double kStrip = 22;  // height of the strip for diverged runs
constexpr double kLowerPlot = 34, kLowerTitle = 26;
// Points that all lines of a chart together may have about; a page of thousands of long curves must
// stay small.
constexpr size_t kPoints = 20000;
constexpr double kMostForNames = 130, kNameSize = 11;
constexpr double kBandRoom = 0.3;  // bands may widen the vertical range by so much of it

// Of the means, to stand at their ends.
std::vector<std::string> end_names(const LineChart& chart) {
  std::vector<std::string> names;
  for (const Series& series : chart.series)
    if (series.stroke == Series::Stroke::kMean) names.push_back(series.name);
  return fitted(names, kMostForNames, kNameSize);
}

double room_for_names(const LineChart& chart) {
  double room = 0;
  if (!chart.names_at_ends) return room;
  for (const std::string& name : end_names(chart))
    room = std::max(room, text_width(name, kNameSize));
  return room;
}

// Where things are, in pixels of the drawing.
struct Frame {
  double names, width, height, top, bottom, axis_bottom;

  explicit Frame(const LineChart& chart)
      : names(room_for_names(chart)),
        width(chart.small ? 300 : 480),
        height((chart.small ? 200 : 300) + (chart.lower ? kLowerTitle + kLowerPlot : 0)),
        top(kTop + (chart.diverged.empty() ? 0 : kStrip + 4)),
        bottom((chart.small ? 200 : 300) - kBottom),
        axis_bottom(height - kBottom) {}
  double right() const { return width - kRight - names; }
};

// Columns for each line, so that all together stay within kPoints: twice as fine as pixels at best.
size_t columns_of_each(const LineChart& chart) {
  const size_t lines = std::max<size_t>(1, chart.series.size() + 2 * chart.bands.size());
  return std::clamp<size_t>(kPoints / (3 * lines), 20, 800);
}

std::vector<Point> to_pixels(const std::vector<Point>& points, const Axis& x, const Axis& y) {
  std::vector<Point> pixels;
  for (const Point& point : points) pixels.push_back({x.at(point.x), y.at(point.y)});
  return pixels;
}

std::string tip(const Series& series, const Point& point) {
  return shorten(series.name, 60) + ": " + significant(point.y, 4) + " at " +
         significant(point.x, 4);
}

void draw_grid(const LineChart& chart, const Frame& frame, const Axis& x, const Axis& y,
               Drawing& drawing) {
  for (const Tick& tick : y.ticks(chart.small ? 4 : 6)) {
    drawing.line(kLeft, y.at(tick.value), frame.right(), y.at(tick.value), "grid");
    drawing.text(kLeft - 7, y.at(tick.value) + 4, tick.label, "tick end");
  }
  const std::vector<Tick> ticks =
      chart.x_ticks.empty() ? x.ticks(chart.small ? 4 : 7) : chart.x_ticks;
  drawing.line(kLeft, frame.bottom, frame.right(), frame.bottom, "axis");
  if (chart.lower) drawing.line(kLeft, frame.axis_bottom, frame.right(), frame.axis_bottom, "axis");
  for (const Tick& tick : without_overlap(ticks, x)) {
    if (!x.shows(tick.value)) continue;
    const double at = x.at(tick.value), bottom = frame.axis_bottom;
    drawing.line(at, bottom, at, bottom + 4, "axis");
    drawing.text(at, bottom + 17, tick.label, "tick middle");
  }
  drawing.text((kLeft + frame.right()) / 2, frame.height - 7, chart.text.x_label, "label middle");
}

// How many of the lines' pixels lie in a rectangle.
int64_t crowd(const std::vector<std::vector<Point>>& lines, double left, double right, double top,
              double bottom) {
  int64_t inside = 0;
  for (const std::vector<Point>& line : lines) {
    for (size_t i = 1; i < line.size(); ++i) {
      const Point &a = line[i - 1], &b = line[i];
      for (double x = std::max(left, a.x); x <= std::min(right, b.x); x += 4) {
        const double share = b.x > a.x ? (x - a.x) / (b.x - a.x) : 0;
        const double y = a.y + share * (b.y - a.y);
        inside += y > top && y < bottom;
      }
    }
  }
  return inside;
}

// Each label stands above or below its line, left or right, where the fewest lines cross it and no
// other label stands.
void draw_levels(const LineChart& chart, const Frame& frame, const Axis& x, const Axis& y,
                 Drawing& drawing) {
  std::vector<std::vector<Point>> lines;
  for (const Series& series : chart.series)
    lines.push_back(decimated(to_pixels(series.points, x, y), 100));
  std::vector<Level> levels = chart.levels;
  std::sort(levels.begin(), levels.end(), [](const Level& a, const Level& b) { return a.y > b.y; });
  struct Box {
    double left, right, top, bottom;
  };
  std::vector<Box> taken;
  for (const Level& level : levels) {
    if (y.shows(level.y)) drawing.line(kLeft, y.at(level.y), frame.right(), y.at(level.y), "level");
  }
  for (const Level& level : levels) {
    if (!y.shows(level.y)) continue;
    const double at = y.at(level.y), width = text_width(level.label);
    double best_crowd = INFINITY, best_x = 0, best_y = 0;
    for (const bool left : {false, true}) {
      for (const double base : {at - 4, at + 13}) {
        const double from = left ? kLeft + 4 : frame.right() - 2 - width;
        const Box box{from, from + width, base - 11, base + 3};
        double crowding =
            static_cast<double>(crowd(lines, box.left, box.right, box.top, box.bottom));
        for (const Box& other : taken) {
          const bool apart = box.right < other.left || other.right < box.left ||
                             box.bottom < other.top || other.bottom < box.top;
          if (!apart) crowding += 1e6;
        }
        for (const Level& other : levels)  // not across another level's line
          crowding += &other != &level && y.at(other.y) > box.top && y.at(other.y) < box.bottom;
        if (box.top < y.end() || box.bottom > y.start()) crowding += 1e6;
        if (crowding >= best_crowd) continue;
        best_crowd = crowding;
        best_x = from;
        best_y = base;
      }
    }
    taken.push_back({best_x, best_x + width, best_y - 11, best_y + 3});
    drawing.text(best_x, best_y, level.label, "level-label halo");
  }
}

void draw_bands(const LineChart& chart, const Axis& x, const Axis& y, Drawing& drawing) {
  const size_t columns = columns_of_each(chart);
  for (const Band& band : chart.bands) {
    // Both edges at the places that either needs.
    std::vector<Point> low, high;
    for (const Band::At& at : band.points) {
      low.push_back({x.at(at.x), y.at(at.low)});
      high.push_back({x.at(at.x), y.at(at.high)});
      // On a logarithmic scale an edge at or below zero is below everything that is shown.
      if (std::isfinite(at.low) && !std::isfinite(low.back().y)) low.back().y = y.start() + 1;
    }
    std::map<double, int> needed;
    for (const Point& point : decimated(low, columns)) needed[point.x];
    for (const Point& point : decimated(high, columns)) needed[point.x];
    const auto not_needed = [&](const Point& point) { return !needed.contains(point.x); };
    std::erase_if(low, not_needed);
    std::erase_if(high, not_needed);
    drawing.area(low, high, "band " + colour_class(band.look));
  }
}

void draw_lines(const LineChart& chart, const Axis& x, const Axis& y, Drawing& drawing) {
  const size_t columns = columns_of_each(chart);
  const auto pixels = [&](const Series& series) {
    return decimated(to_pixels(series.points, x, y), columns);
  };
  // Thin lines first, so that means stay on top.
  for (const Series& series : chart.series) {
    if (series.stroke == Series::Stroke::kSeed)
      drawing.path(pixels(series), "seed " + colour_class(series.look));
  }
  for (const Series& series : chart.series) {
    if (series.stroke == Series::Stroke::kMean || series.stroke == Series::Stroke::kLine) {
      drawing.path(pixels(series), "mean " + colour_class(series.look), dash_pattern(series.look));
    }
    if (series.stroke == Series::Stroke::kPlain) drawing.path(pixels(series), "plain");
  }
}

void draw_marks(const LineChart& chart, const Axis& x, const Axis& y, Drawing& drawing) {
  for (const Series& series : chart.series) {
    if (series.stroke != Series::Stroke::kFaint) continue;
    for (const Point& point : series.points) {
      if (x.shows(point.x) && y.shows(point.y))
        drawing.circle(x.at(point.x), y.at(point.y), 2, "faint");
    }
  }
  for (const Series& series : chart.series) {
    const bool mean = series.stroke == Series::Stroke::kMean;
    if (!mean && series.stroke != Series::Stroke::kDots) continue;
    // A mean of many evaluations is marked here and there, arms that lie together at different
    // places, and at its end.
    const size_t every = mean ? 1 + series.points.size() / kMostMarkers : 1;
    const size_t shift = every * (series.look % 4) / 4;
    for (size_t i = 0; i < series.points.size(); ++i) {
      const Point& point = series.points[i];
      const size_t from_end = series.points.size() - 1 - i;
      if (from_end != 0 && from_end % every != shift) continue;
      if (!x.shows(point.x) || !y.shows(point.y)) continue;
      drawing.marker(series.look, x.at(point.x), y.at(point.y), mean ? 4 : 3.5, tip(series, point));
    }
  }
}

// Beside the last point of each mean, moved apart where they would lie on each other.
void draw_end_names(const LineChart& chart, const Frame& frame, const Axis& x, const Axis& y,
                    Drawing& drawing) {
  if (!chart.names_at_ends) return;
  struct End {
    double at;
    std::string name;
    size_t look;
  };
  const std::vector<std::string> names = end_names(chart);
  std::vector<End> ends;
  size_t next = 0;
  for (const Series& series : chart.series) {
    if (series.stroke != Series::Stroke::kMean) continue;
    const std::string& name = names[next++];
    for (auto point = series.points.rbegin(); point != series.points.rend(); ++point) {
      if (!x.shows(point->x) || !y.shows(point->y)) continue;
      ends.push_back({y.at(point->y), name, series.look});
      break;
    }
  }
  constexpr double kApart = 13;
  std::ranges::stable_sort(ends, {}, &End::at);
  for (size_t i = 1; i < ends.size(); ++i)
    ends[i].at = std::max(ends[i].at, ends[i - 1].at + kApart);
  double lowest = frame.bottom;
  for (size_t i = ends.size(); i-- > 0; lowest = ends[i].at - kApart)
    ends[i].at = std::min(ends[i].at, lowest);
  for (const End& end : ends)
    drawing.text(frame.right() + 7, end.at + 4, end.name,
                 "small end-name " + colour_class(end.look));
}

void draw_diverged(const LineChart& chart, const Frame& frame, const Axis& x, Drawing& drawing) {
  if (chart.diverged.empty()) return;
  const double middle = kTop + kStrip / 2;
  drawing.rectangle(kLeft, kTop, frame.right() - kLeft, kStrip, "strip");
  drawing.text(kLeft - 7, middle + 4, "diverged", "small end");
  std::map<double, int> crosses_at;
  for (const DivergedRuns& runs : chart.diverged) {
    const double at = x.at(runs.x) + 22 * crosses_at[runs.x]++;
    const std::string count = std::to_string(runs.count);
    drawing.cross(runs.look, at, middle, 4,
                  shorten(runs.name, 60) + ": " + count + " diverged at " + number_text(runs.x));
    if (runs.count > 1) drawing.text(at + 7, middle + 4, count, "small");
  }
}

// Columns of several arms at one place stand side by side.
void draw_columns(const LineChart& chart, const Axis& x, const Axis& y, Drawing& drawing) {
  constexpr double kWidth = 9;
  std::map<double, std::vector<size_t>> looks_at;
  for (const Column& column : chart.columns) looks_at[column.x].push_back(column.look);
  for (const auto& [value, looks] : looks_at) {
    const double left = x.at(value) - kWidth * static_cast<double>(looks.size()) / 2;
    for (size_t i = 0; i < looks.size(); ++i) {
      drawing.rectangle(left + kWidth * static_cast<double>(i), y.end(), kWidth,
                        y.start() - y.end(), "column " + colour_class(looks[i]));
    }
  }
}

void draw_verticals(const LineChart& chart, const Axis& x, const Axis& y, Drawing& drawing) {
  for (const VerticalLine& line : chart.verticals) {
    if (!x.shows(line.x)) continue;
    drawing.line(x.at(line.x), y.start(), x.at(line.x), y.end(), "level");
    drawing.text(x.at(line.x) + 4, y.end() + 11, line.label, "level-label halo");
  }
}

void draw_lower(const LowerPlot& lower, const Frame& frame, const Axis& x, Drawing& drawing) {
  std::vector<double> values = {0};
  for (const Series& series : lower.series) {
    for (const Point& point : series.points) values.push_back(point.y);
  }
  double most = 0;
  for (const double value : values) most = std::isfinite(value) ? std::max(most, value) : most;
  const double top = frame.axis_bottom - kLowerPlot;
  const Axis y(Scale::kLinear, 0, most, frame.axis_bottom, top);
  drawing.text(kLeft, top - 8, lower.label, "small");
  for (const double value : {0.0, most}) {
    drawing.line(kLeft, y.at(value), frame.right(), y.at(value), value == 0 ? "axis" : "grid");
    drawing.text(kLeft - 7, y.at(value) + 4, significant(value, 2), "tick end");
  }
  for (const Series& series : lower.series) {
    const std::vector<Point> pixels = decimated(to_pixels(series.points, x, y), 400);
    if (series.stroke == Series::Stroke::kPlain) {
      drawing.path(pixels, "plain");
    } else {
      drawing.path(pixels, "line " + colour_class(series.look), dash_pattern(series.look));
    }
  }
}

void add_range(const LineChart& chart, std::vector<double>& xs, std::vector<double>& ys) {
  for (const Tick& tick : chart.x_ticks) xs.push_back(tick.value);
  for (const Series& series : chart.series) {
    for (const Point& point : series.points) {
      if (!std::isfinite(point.y) || point.x < chart.x_from) continue;
      xs.push_back(point.x);
      ys.push_back(point.y);
    }
  }
  for (const DivergedRuns& runs : chart.diverged) xs.push_back(runs.x);
  for (const Column& column : chart.columns) xs.push_back(column.x);
  for (const Level& level : chart.levels) {
    if (!std::isfinite(chart.x_from)) ys.push_back(level.y);
  }
  if (chart.y_from_zero) ys.push_back(0);
  ys.insert(ys.end(), chart.y_covers.begin(), chart.y_covers.end());
  if (std::isfinite(chart.x_from)) xs.push_back(chart.x_from);
  if (ys.empty()) return;
  const auto [least, most] = std::minmax_element(ys.begin(), ys.end());
  const double low = *least, high = *most, room = kBandRoom * (high - low);
  for (const Band& band : chart.bands) {
    for (const Band::At& at : band.points) {
      if (!std::isfinite(at.low) || at.x < chart.x_from) continue;
      ys.push_back(std::max(at.low, low - room));
      ys.push_back(std::min(at.high, high + room));
    }
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
  add_range(chart, xs, ys);
  const Frame frame(chart);
  const bool window = std::isfinite(chart.x_from) && !xs.empty();
  const Axis x = window ? Axis(chart.x_scale, chart.x_from, *std::max_element(xs.begin(), xs.end()),
                               kLeft, frame.right() - 8)
                        : Axis(chart.x_scale, xs, kLeft, frame.right());
  const Axis y(chart.y_scale, ys, frame.bottom, frame.top);

  Drawing drawing(chart.text.id, chart.text.title, chart.text.description, frame.width,
                  frame.height);
  drawing.text(0, 15, chart.text.title, "title");
  if (!chart.text.mark.empty()) drawing.text(frame.right(), 15, chart.text.mark, "mark end");
  draw_columns(chart, x, y, drawing);
  draw_grid(chart, frame, x, y, drawing);
  draw_diverged(chart, frame, x, drawing);
  drawing.begin_clip(kLeft, frame.top, frame.right() - kLeft, frame.bottom - frame.top);
  draw_bands(chart, x, y, drawing);
  draw_lines(chart, x, y, drawing);
  drawing.end_clip();
  draw_levels(chart, frame, x, y, drawing);
  draw_verticals(chart, x, y, drawing);
  draw_marks(chart, x, y, drawing);
  for (const Ring& ring : chart.rings) {
    if (!x.shows(ring.at.x) || !y.shows(ring.at.y)) continue;
    const double right = x.at(ring.at.x), middle = y.at(ring.at.y);
    drawing.circle(right, middle, 9, "ring " + colour_class(ring.look));
    if (!ring.note.empty()) drawing.text(right, middle - 13, ring.note, "small halo middle");
  }
  draw_end_names(chart, frame, x, y, drawing);
  if (chart.y_scale == Scale::kLinear && !y.shows(0))
    drawing.text(0, frame.height - 7, "not from 0", "small");
  if (chart.lower) draw_lower(*chart.lower, frame, x, drawing);
  return drawing.svg();
}

}  // namespace draftlab

#pragma once

#include <cmath>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "reports/charts/axis.h"
#include "reports/stats/claim.h"
#include "reports/stats/statistics.h"

namespace draftlab {

// Charts as inline SVG. Each is plain data and one function that draws it; NaN and infinity are
// never drawn as numbers. figure() adds the link to the numbers, and is what a page holds.

struct ChartText {
  std::string id;           // unique on the page
  std::string title;        // drawn above the chart: what the vertical axis shows
  std::string description;  // for those who cannot see it
  std::string x_label;
  std::string mark;  // a caveat drawn in the corner; "" for none
  std::string csv;   // the file beside the page that holds the numbers: "runs.csv"
};

inline constexpr int64_t kFewestForInterval = kFewestSeeds;  // of two it would dwarf the values

// The <figure> around a drawn chart.
std::string figure_of(const std::string& svg, const ChartText& text, std::string_view css_class);

struct Series {
  // Thick line with markers; thin line of one seed; line without markers; dots alone; small dots
  // that stay in the background; a line in the colour of the text, of no arm or of all.
  enum class Stroke { kMean, kSeed, kLine, kDots, kFaint, kPlain };
  size_t look = 0;
  std::string name;
  std::vector<Point> points;
  Stroke stroke = Stroke::kMean;
};

struct Level {  // a horizontal line
  double y;
  std::string label;
};

struct VerticalLine {
  double x;
  std::string label;
};

struct DivergedRuns {  // a cross above the plot
  size_t look;
  std::string name;
  double x;
  int64_t count;
};

struct Ring {  // marks the chosen point of an arm
  size_t look;
  Point at;
  std::string note = {};  // a word beside it
};

struct Band {  // the area of an interval around a line
  struct At {
    double x, low, high;
  };
  size_t look;
  std::vector<At> points;
};

struct Column {  // a shaded column: the edge of what an arm tried
  size_t look;
  double x;
};

struct LowerPlot {  // a low plot from 0 below the chart, along the same horizontal axis
  std::string label;
  std::vector<Series> series;
};

struct LineChart {
  ChartText text;
  Scale x_scale = Scale::kLinear, y_scale = Scale::kLinear;
  std::vector<Series> series;
  std::vector<Level> levels;
  std::vector<VerticalLine> verticals;
  std::vector<DivergedRuns> diverged;
  std::vector<Ring> rings;
  std::vector<Band> bands;
  std::vector<Column> columns;
  std::optional<LowerPlot> lower;
  double x_from = -INFINITY;  // where finite, only what lies to its right is shown
  std::vector<Tick> x_ticks;  // where not empty: the ticks of the horizontal axis
  bool y_from_zero = false;
  std::vector<double> y_covers;  // the vertical axis covers these too: the range of its neighbours
  bool small = false;            // one of many side by side
  bool names_at_ends = false;    // of the means, instead of a legend
};
std::string svg(const LineChart& chart);
// Values that fall to less than half, as losses do, are read better on a logarithmic scale.
void use_log_scale_if_wide(LineChart& chart);

// One row per arm with one dot per seed; dots of equal seeds are joined from row to row. Values
// that are not finite become crosses in a strip on the right.
struct DotRow {
  size_t look = 0;
  std::string name;
  std::vector<std::string> seeds;
  std::vector<double> values;
  Estimate estimate;  // the mean is drawn, and the interval from three values on
};
struct DotChart {
  ChartText text;
  std::vector<DotRow> rows;
  std::string strip;  // what a cross means: "not reached"
};
std::string svg(const DotChart& chart);

// Bars of stacked parts from zero.
struct BarRow {
  std::string name;
  std::vector<double> parts;
  std::string total;  // written at the end of the bar
};
struct BarChart {
  ChartText text;
  std::vector<BarRow> rows;
  std::vector<size_t> looks = {0, 1, 2};  // of the parts, as for part_sample()
};
std::string svg(const BarChart& chart);

// What happened when, a row for each job: a bar for each time that it ran.
struct TimelineBar {
  double start, end;  // seconds
  // outcome_name; any other: the end is not known, and `end` is the last known time.
  std::string outcome;
  std::string tip;
};
struct TimelineRow {
  std::string name;
  std::vector<TimelineBar> bars;
};
struct TimelineChart {
  ChartText text;  // x_label without its unit, which follows from the length
  std::vector<TimelineRow> rows;
};
std::string svg(const TimelineChart& chart);
// What its bars look like, for the outcomes that are in it.
std::string legend(const TimelineChart& chart);

// <figure> with the chart and a link to its numbers. Classes: "single" and "wide" are for charts
// that stand alone.
template <typename Chart>
std::string figure(const Chart& chart, std::string_view css_class = "") {
  return figure_of(svg(chart), chart.text, css_class);
}
// Charts in a row that becomes a column where the page is narrow.
template <typename A, typename B>
std::string side_by_side(const A& first, const B& second) {
  return "<div class=\"pair\">\n" + figure(first) + figure(second) + "</div>\n";
}

// A swatch of the look that a part of a bar has, 0 to 4, for legends.
std::string part_sample(size_t look);

}  // namespace draftlab

#pragma once

#include <string>
#include <vector>

#include "reports/axis.h"
#include "reports/statistics.h"

namespace draftlab {

// Charts as inline SVG. Each is plain data and one function that draws it; NaN and infinity are
// never drawn as numbers.

struct ChartText {
  std::string id;           // unique on the page
  std::string title;        // drawn above the chart: what the vertical axis shows
  std::string description;  // for those who cannot see it
  std::string x_label;
  std::string mark;  // a caveat drawn in the corner; "" for none
};

struct Series {
  // Thick line with markers; thin line of one seed; line without markers; dots alone; small dots
  // that stay in the background.
  enum class Stroke { kMean, kSeed, kLine, kDots, kFaint };
  size_t look = 0;
  std::string name;
  std::vector<Point> points;
  Stroke stroke = Stroke::kMean;
};

struct Level {  // a horizontal line
  double y;
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
};

struct LineChart {
  ChartText text;
  Scale x_scale = Scale::kLinear, y_scale = Scale::kLinear;
  std::vector<Series> series;
  std::vector<Level> levels;
  std::vector<DivergedRuns> diverged;
  std::vector<Ring> rings;
  std::vector<Tick> x_ticks;  // where not empty: the ticks of the horizontal axis
  bool y_from_zero = false;
  bool small = false;  // one of many side by side
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
};
std::string svg(const BarChart& chart);
// A swatch of part number `part`, for legends.
std::string part_sample(size_t part);

}  // namespace draftlab

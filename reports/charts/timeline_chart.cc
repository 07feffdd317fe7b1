#include <algorithm>
#include <cmath>
#include <iterator>
#include <set>

#include "base/number_text.h"
#include "reports/charts/chart.h"
#include "reports/charts/drawing.h"
#include "reports/charts/label.h"

namespace draftlab {
namespace {

constexpr double kWidth = 960, kLeft = 250, kRight = 80, kTop = 34, kBottom = 42, kRow = 18;
constexpr double kBar = 10;  // height of a bar

struct Unit {
  double seconds;
  const char* name;
};

Unit unit_of(double length) {
  for (const Unit unit : {Unit{86400, "days"}, Unit{3600, "hours"}, Unit{60, "minutes"}}) {
    if (length >= 2 * unit.seconds) return unit;
  }
  return {1, "seconds"};
}

// What is drawn for an outcome: itself where it is one of these, else "", the end is not known.
constexpr const char* kOutcomes[] = {"done", "diverged", "failed", "interrupted"};

std::string drawn(const std::string& outcome) {
  for (const char* known : kOutcomes) {
    if (outcome == known) return outcome;
  }
  return "";
}

// Full bars ended by themselves: plainly when done, with a cross when diverged, with a wedge when
// failed. Hollow bars did not: dashed where no end is known.
void draw_bar(const std::string& outcome, double from, double to, double middle, Drawing& drawing) {
  const double top = middle - kBar / 2;
  drawing.rectangle(from, top, std::max(2.0, to - from), kBar,
                    "bar o-" + (outcome.empty() ? "unknown" : outcome));
  if (outcome == "diverged") {
    drawing.path({{to - 5, middle - 5},
                  {to + 5, middle + 5},
                  {NAN, NAN},
                  {to - 5, middle + 5},
                  {to + 5, middle - 5}},
                 "bar-end");
  } else if (outcome == "failed") {
    drawing.path(
        {{to - 1, middle - 7}, {to + 7, middle}, {to - 1, middle + 7}, {to - 1, middle - 7}},
        "bar-end solid");
  } else if (outcome == "interrupted") {
    drawing.line(to, middle - 7, to, middle + 7, "bar-end");
  }
}

std::string word_of(const std::string& outcome) {
  return outcome.empty() ? "end not known" : outcome;
}

}  // namespace

std::string svg(const TimelineChart& chart) {
  double begin = INFINITY, end = -INFINITY;
  for (const TimelineRow& row : chart.rows) {
    for (const TimelineBar& bar : row.bars) {
      begin = std::min(begin, bar.start);
      end = std::max(end, bar.end);
    }
  }
  if (!(begin < end)) begin = std::isfinite(begin) ? begin : 0, end = begin + 1;
  const Unit unit = unit_of(end - begin);
  const double height = kTop + kRow * static_cast<double>(chart.rows.size()) + kBottom;
  const double bottom = height - kBottom;
  const Axis x(Scale::kLinear, 0, (end - begin) / unit.seconds, kLeft, kWidth - kRight);
  const auto at = [&](double seconds) { return x.at((seconds - begin) / unit.seconds); };

  Drawing drawing(chart.text.id, chart.text.title, chart.text.description, kWidth, height);
  drawing.text(0, 15, chart.text.title, "title");
  for (const Tick& tick : without_overlap(x.ticks(9), x)) {
    drawing.line(x.at(tick.value), kTop - 4, x.at(tick.value), bottom, "grid");
    drawing.text(x.at(tick.value), bottom + 17, tick.label, "tick middle");
  }
  drawing.line(kLeft, bottom, kWidth - kRight, bottom, "axis");
  drawing.text((kLeft + kWidth - kRight) / 2, height - 7, chart.text.x_label + ", " + unit.name,
               "label middle");
  std::vector<std::string> names;
  for (const TimelineRow& row : chart.rows) names.push_back(row.name);
  names = fitted(names, kLeft - 12);
  for (size_t i = 0; i < chart.rows.size(); ++i) {
    const TimelineRow& row = chart.rows[i];
    const double middle = kTop + kRow * (static_cast<double>(i) + 0.5);
    drawing.text(kLeft - 10, middle + 4, names[i], "tick end");
    double right = kLeft;
    for (const TimelineBar& bar : row.bars) {
      drawing.begin_tip(bar.tip);
      draw_bar(drawn(bar.outcome), at(bar.start), at(bar.end), middle, drawing);
      drawing.end_tip();
      right = std::max(right, at(bar.end));
    }
    if (row.bars.size() > 1) {
      drawing.text(right + 10, middle + 4, std::to_string(row.bars.size()) + " attempts",
                   "small halo");
    }
  }
  return drawing.svg();
}

std::string legend(const TimelineChart& chart) {
  std::set<std::string> seen;
  for (const TimelineRow& row : chart.rows) {
    for (const TimelineBar& bar : row.bars) seen.insert(drawn(bar.outcome));
  }
  std::string html = "<ul class=\"legend\">\n";
  std::vector<std::string> outcomes(std::begin(kOutcomes), std::end(kOutcomes));
  outcomes.push_back("");
  for (const std::string& outcome : outcomes) {
    if (!seen.contains(outcome)) continue;
    Drawing sample = Drawing::sample(40, 14);
    draw_bar(outcome, 3, 30, 7, sample);
    html += "<li>" + sample.svg() + " " + word_of(outcome) + "</li>\n";
  }
  return html + "</ul>\n";
}

}  // namespace draftlab

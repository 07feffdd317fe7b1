#include <cmath>

#include "reports/charts/chart.h"
#include "reports/charts/drawing.h"
#include "reports/charts/label.h"

namespace draftlab {
namespace {

constexpr double kWidth = 640, kLeft = 132, kRight = 74, kTop = 34, kBottom = 42, kRow = 30;

}  // namespace

std::string svg(const BarChart& chart) {
  double longest = 0;
  for (const BarRow& row : chart.rows) {
    double sum = 0;
    for (double part : row.parts) sum += std::isfinite(part) ? part : 0;
    longest = std::fmax(longest, sum);
  }
  const double height = kTop + kRow * static_cast<double>(chart.rows.size()) + kBottom;
  const double bottom = height - kBottom;
  const Axis x(Scale::kLinear, 0, longest, kLeft, kWidth - kRight);

  std::vector<std::string> names;
  for (const BarRow& row : chart.rows) names.push_back(row.name);
  names = fitted(names, kLeft - 12, 13);
  Drawing drawing(chart.text.id, chart.text.title, chart.text.description, kWidth, height);
  drawing.text(0, 15, chart.text.title, "title");
  if (!chart.text.mark.empty()) drawing.text(kWidth, 15, chart.text.mark, "mark end");
  for (const Tick& tick : without_overlap(x.ticks(6), x)) {
    drawing.line(x.at(tick.value), kTop, x.at(tick.value), bottom, "grid");
    drawing.text(x.at(tick.value), bottom + 17, tick.label, "tick middle");
  }
  drawing.line(kLeft, bottom, kWidth - kRight, bottom, "axis");
  drawing.text((kLeft + kWidth - kRight) / 2, height - 7, chart.text.x_label, "label middle");
  for (size_t i = 0; i < chart.rows.size(); ++i) {
    const double top = kTop + kRow * static_cast<double>(i) + 6;
    drawing.text(kLeft - 10, top + 13, names[i], "rowname end");
    double from = 0;
    for (size_t part = 0; part < chart.rows[i].parts.size(); ++part) {
      if (!std::isfinite(chart.rows[i].parts[part])) continue;
      const double to = from + chart.rows[i].parts[part];
      drawing.rectangle(x.at(from), top, x.at(to) - x.at(from), kRow - 12,
                        "part p" + std::to_string(chart.looks.at(part)));
      from = to;
    }
    drawing.text(x.at(from) + 7, top + 13, chart.rows[i].total, "tick halo");
  }
  return drawing.svg();
}

std::string part_sample(size_t look) {
  return "<svg class=\"swatch\" viewBox=\"0 0 16 12\" aria-hidden=\"true\"><rect x=\"1\" y=\"1\" "
         "width=\"14\" height=\"10\" class=\"part p" +
         std::to_string(look) + "\"/></svg>";
}

}  // namespace draftlab

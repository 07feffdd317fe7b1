#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <set>
#include <utility>

#include "base/number_text.h"
#include "reports/charts/chart.h"
#include "reports/page/sections.h"
#include "reports/study/curve.h"
#include "reports/study/step_size.h"
#include "reports/text/html.h"

namespace draftlab {
namespace {

using CurveOf = std::function<std::vector<Point>(const Result&)>;

std::vector<Point> gradients(const Result& run, double GradientRow::*value) {
  std::vector<Point> points;
  for (const GradientRow& row : run.gradients)
    points.push_back({static_cast<double>(row.step), row.*value});
  return points;
}

// At each step the worst of the kinds that the arm orthogonalizes.
std::vector<Point> worst(const Result& run, double UpdateRow::*value, bool lowest) {
  std::map<int64_t, double> at_step;
  for (const UpdateRow& row : run.updates) {
    if (std::isnan(row.*value)) continue;  // not orthogonalized
    const auto [entry, added] = at_step.emplace(row.step, row.*value);
    entry->second =
        lowest ? std::min(entry->second, row.*value) : std::max(entry->second, row.*value);
  }
  std::vector<Point> points;
  for (const auto& [step, number] : at_step) points.push_back({static_cast<double>(step), number});
  return points;
}

// One line per arm: the mean over the finished runs of its chosen setting.
LineChart chart_of(const Summary& summary, const ChartText& text, const CurveOf& curve) {
  LineChart chart;
  chart.text = text;
  std::set<double> steps;
  for (const Arm& arm : summary.arms) {
    if (arm.chosen() == nullptr) continue;
    std::vector<std::vector<Point>> curves;
    for (const Result* run : arm.chosen()->finished) curves.push_back(curve(*run));
    Series series{arm.look, arm.name, mean_at_common_x(curves), Series::Stroke::kMean};
    for (const Point& point : series.points) steps.insert(point.x);
    if (!series.points.empty()) chart.series.push_back(std::move(series));
  }
  for (const double step : steps) chart.x_ticks.push_back(number_tick(step));
  return chart;
}

std::string ratio_charts(const Summary& summary) {
  std::vector<LineChart> charts;
  std::vector<double> range;  // one scale for all, so that kinds can be compared
  int64_t number = 0;
  for (const std::string& kind : matrix_kinds(summary)) {
    LineChart chart =
        chart_of(summary,
                 {"ratio-" + std::to_string(++number), kind,
                  "Root mean square of one update over that of the weights, for the layers " +
                      kind + ", against training steps, for the chosen setting of each arm.",
                  "training steps", "", "updates.csv"},
                 [&](const Result& run) { return ratio_curve(run, kind); });
    if (chart.series.empty()) continue;
    chart.y_scale = Scale::kLog;
    chart.small = true;
    for (const Series& series : chart.series)
      for (const Point& point : series.points)
        if (std::isfinite(point.y) && point.y > 0) range.push_back(point.y);
    charts.push_back(std::move(chart));
  }
  std::string html;
  for (LineChart& chart : charts) {
    if (!range.empty()) {
      const auto [least, most] = std::ranges::minmax(range);
      chart.y_covers = {least, most};
    }
    html += figure(chart);
  }
  return html.empty() ? "" : "<div class=\"many\">\n" + html + "</div>\n";
}

std::string gradient_charts(const Summary& summary) {
  LineChart norm = chart_of(
      summary,
      {"gradient-norm", "Gradient norm",
       "Mean global norm of the gradient before clipping since the evaluation before, against "
       "training steps.",
       "training steps", "", "updates.csv"},
      [](const Result& run) { return gradients(run, &GradientRow::norm); });
  use_log_scale_if_wide(norm);
  LineChart clipped = chart_of(
      summary,
      {"clipped-share", "Share of clipped steps",
       "Share of the steps since the evaluation before whose gradient was clipped, against "
       "training steps.",
       "training steps", "", "updates.csv"},
      [](const Result& run) { return gradients(run, &GradientRow::clipped_share); });
  clipped.y_from_zero = true;
  if (norm.series.empty()) return "";
  return side_by_side(norm, clipped);
}

std::string orthogonality_charts(const Summary& summary) {
  LineChart alignment = chart_of(
      summary,
      {"alignment", "Alignment with what was orthogonalized",
       "Lowest alignment of any kind of layer with the exact polar factor's direction, against "
       "training steps, for the arms that orthogonalize.",
       "training steps", "", "updates.csv"},
      [](const Result& run) { return worst(run, &UpdateRow::alignment, true); });
  const LineChart deviation = chart_of(
      summary,
      {"deviation", "Distance from orthogonality",
       "Largest distance of a singular value of an update from 1, over all kinds of layer, against "
       "training steps, for the arms that orthogonalize.",
       "training steps", "", "updates.csv"},
      [](const Result& run) { return worst(run, &UpdateRow::deviation, false); });
  if (alignment.series.empty()) return "";
  alignment.levels.push_back({1, "exact"});
  return side_by_side(alignment, deviation) +
         paragraph(
             "Alignment is tr(OᵀX) over the nuclear norm of X, 1 for the exact polar factor; at 0 "
             "an "
             "update O would not follow the momentum X any more, below it would climb. The "
             "distance "
             "is the largest |σ − 1| over the nonzero singular values of O. Both are the worst of "
             "all kinds of layer, each measured on its first matrix.",
             "note");
}

// The smallest and the largest step size of an arm.
std::string step_size_sentence(const Summary& summary) {
  std::vector<std::pair<StepSize, std::string>> sizes;
  for (const Arm& arm : summary.arms) {
    if (arm.chosen() == nullptr) continue;
    const StepSize size = step_size(arm.chosen()->finished);
    if (!std::isnan(size.value)) sizes.emplace_back(size, arm.name);
  }
  if (sizes.empty()) return "";
  const auto [least, most] = std::minmax_element(
      sizes.begin(), sizes.end(),
      [](const auto& a, const auto& b) { return a.first.value < b.first.value; });
  const auto percent = [](const auto& size) {
    return significant(100 * size.first.value, 2) + " % of its size with " + size.second;
  };
  std::string text = "At step " + number_text(least->first.step) +
                     ", one moves a matrix (the median over kinds of layer) by " + percent(*least);
  if (sizes.size() > 1) text += " and by " + percent(*most);
  return text + ".";
}

}  // namespace

std::string updates_section(const Study& study) {
  const Summary& summary = study.summary;
  const std::string charts = ratio_charts(summary), gradient = gradient_charts(summary);
  if (charts.empty() && gradient.empty()) return "";
  std::string html = legend(summary);
  if (charts.empty()) {
    html += paragraph("This folder holds no rows about updates; an older version made it.");
  } else {
    html += paragraph(
        "How far one update moves the weights of each kind of layer: its root mean square over "
        "theirs, at the full learning rate (the schedule is divided out; log scale). Arms whose "
        "lines lie together take equally large steps, whatever their learning rates say. " +
        escape(step_size_sentence(summary)));
    html += dead_tensors(summary);
    html += charts;
  }
  html += gradient;
  html += orthogonality_charts(summary);
  html += spectra(summary);
  html += paragraph(
      "Means over the finished seeds at the chosen setting of each arm. Updates are measured at "
      "evaluated steps; norms and shares are of all steps since the evaluation before. All "
      "numbers, "
      "those of vectors too, are in <a href=\"updates.csv\">updates.csv</a>.",
      "note");
  return section("updates", "Updates", html);
}

}  // namespace draftlab

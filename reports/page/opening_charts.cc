#include "reports/page/opening_charts.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/number_text.h"
#include "reports/charts/axis.h"
#include "reports/charts/chart.h"
#include "reports/charts/drawing.h"
#include "reports/charts/label.h"
#include "reports/study/paired_curve.h"
#include "reports/text/words.h"

namespace draftlab {
namespace {

constexpr double kWidth = 660, kMostForNames = 200, kMostForWords = 275, kTop = 38, kRow = 27,
                 kNameSize = 13, kGap = 12;
constexpr size_t kMostBands = 4;

double widest(const std::vector<std::string>& texts, double size) {
  double width = 0;
  for (const std::string& text : texts) width = std::max(width, text_width(text, size));
  return width;
}

Axis axis_of(const Opening& opening, double left, double right) {
  std::vector<double> xs = {0};
  for (const ForestRow& row : opening.rows)
    for (const double x : {row.low, row.high, row.difference})
      if (std::isfinite(x)) xs.push_back(x);
  return Axis(Scale::kLinear, xs, left, right);
}

void draw_row(const ForestRow& row, const Axis& x, double y, Drawing& drawing) {
  if (row.reference && std::isfinite(row.value)) drawing.marker(row.look, x.at(0), y, 4.5, row.arm);
  if (!std::isfinite(row.difference)) return;
  if (std::isfinite(row.low))
    drawing.line(x.at(row.low), y, x.at(row.high), y, "interval " + colour_class(row.look));
  drawing.marker(row.look, x.at(row.difference), y, 4.5, row.arm);
}

}  // namespace

std::string forest_figure(const Opening& opening) {
  if (opening.rows.size() < 2) return "";
  std::vector<std::string> names, words;
  for (const ForestRow& row : opening.rows) {
    names.push_back(row.arm);
    words.push_back(words_of(row, opening.decimals));
  }
  names = fitted(names, kMostForNames, kNameSize);
  words = fitted(words, kMostForWords);
  const Axis x =
      axis_of(opening, widest(names, kNameSize) + kGap, kWidth - widest(words, kTextSize) - kGap);
  const double height = kTop + kRow * static_cast<double>(opening.rows.size()) + 4;
  const std::string title = capitalized(opening.measure);
  Drawing drawing("forest", title,
                  "Each arm's difference to the reference with the interval that goes with its "
                  "claim; right of 0 is higher.",
                  kWidth, height);
  drawing.text(0, 14, fitted({title}, kWidth, 14)[0], "title");
  for (const Tick& tick : without_overlap(x.ticks(5), x)) {
    drawing.line(x.at(tick.value), kTop - 2, x.at(tick.value), height - 2, "grid");
    drawing.text(x.at(tick.value), kTop - 5, tick.label, "small middle halo");
  }
  drawing.line(x.at(0), kTop - 2, x.at(0), height - 2, "axis");
  for (size_t i = 0; i < opening.rows.size(); ++i) {
    const ForestRow& row = opening.rows[i];
    const double y = kTop + kRow * (static_cast<double>(i) + 0.5);
    drawing.begin_tip(row.arm + ": " + words_of(row, opening.decimals));
    drawing.text(0, y + 4, names[i], "rowname");
    draw_row(row, x, y, drawing);
    drawing.text(x.end() + kGap, y + 4, words[i], row.claimed ? "label strong" : "label");
    drawing.end_tip();
  }
  return figure_of(drawing.svg(), {.csv = "pairs.csv"}, "");
}

std::optional<LineChart> difference_chart(const Summary& summary, Measure measure,
                                          const std::string& id) {
  const Arm& reference = summary.arms[summary.reference];
  if (reference.chosen() == nullptr) return std::nullopt;
  const MeasureKind& kind = kind_of(measure);
  LineChart chart;
  chart.text = {id,
                capitalized(kind.name) + ", difference over training",
                "Mean over seeds of the difference in held-out " + kind.name +
                    " to the reference with the same seed, against training steps, with its 95 % "
                    "interval.",
                "training steps",
                "",
                "evaluations.csv"};
  for (const Arm& arm : summary.arms) {
    if (&arm == &reference || arm.chosen() == nullptr || arm.copy_of) continue;
    const PairedCurve curve =
        paired_curve(arm.chosen()->finished, reference.chosen()->finished, measure);
    if (curve.steps.size() < 2 || curve.seeds.empty()) continue;
    Series series{arm.look, arm.name, {}, Series::Stroke::kMean};
    Band band{arm.look, {}};
    for (size_t i = 0; i < curve.steps.size(); ++i) {
      const double step = static_cast<double>(curve.steps[i]);
      series.points.push_back({step, curve.mean[i].mean});
      band.points.push_back({step, curve.mean[i].low, curve.mean[i].high});
    }
    chart.series.push_back(std::move(series));
    if (static_cast<int64_t>(curve.seeds.size()) >= kFewestForInterval)
      chart.bands.push_back(std::move(band));
  }
  if (chart.series.empty()) return std::nullopt;
  if (chart.series.size() > kMostBands) chart.bands.clear();  // they would hide each other
  chart.levels.push_back({0, fitted({reference.name}, 120)[0]});
  chart.names_at_ends = true;
  return chart;
}

std::string difference_figure(const Study& study) {
  const auto chart = difference_chart(study.summary, study.summary.chosen_by, "difference");
  return chart ? figure(*chart) : "";
}

}  // namespace draftlab

#include <algorithm>
#include <cmath>
#include <utility>

#include "reports/charts/chart.h"
#include "reports/charts/label.h"
#include "reports/page/opening_charts.h"
#include "reports/page/sections.h"
#include "reports/study/curve.h"
#include "reports/text/html.h"

namespace draftlab {
namespace {

constexpr size_t kMostTogether = 4;  // curves of one chart that are still told apart

std::vector<const Arm*> shown(const Summary& summary) {
  std::vector<const Arm*> arms;
  for (const Arm& arm : summary.arms)
    if (arm.chosen() != nullptr && !arm.copy_of) arms.push_back(&arm);
  return arms;
}

std::string differences_over_training(const Summary& summary) {
  std::vector<LineChart> charts;
  for (const Measure measure : {Measure::kAcceptanceLength, Measure::kLoss}) {
    auto chart = difference_chart(summary, measure, kind_of(measure).key + "-difference");
    if (chart) charts.push_back(std::move(*chart));
  }
  return charts.size() == 2 ? side_by_side(charts[0], charts[1]) : "";
}

// A small chart for each arm, the reference's mean behind it, all on one scale.
std::string arm_by_arm(const Study& study, Measure measure) {
  const Summary& summary = study.summary;
  const Arm& reference = summary.arms[summary.reference];
  const MeasureKind& kind = kind_of(measure);
  const std::vector<const Arm*> arms = shown(summary);
  const auto mean_of = [&](const Arm& arm, Series::Stroke stroke) {
    return Series{arm.look, arm.name,
                  means(curve_estimates(arm.chosen()->finished, measure, Clock::kSteps)), stroke};
  };
  std::vector<std::string> titles;
  std::vector<double> range;
  for (const Arm* arm : arms) {
    titles.push_back(arm->name);
    for (const Point& point : mean_of(*arm, Series::Stroke::kMean).points)
      if (std::isfinite(point.y)) range.push_back(point.y);
  }
  if (range.empty()) return "";
  titles = fitted(titles, 260, 13.5);
  const auto [least, most] = std::ranges::minmax(range);
  std::string html;
  for (size_t i = 0; i < arms.size(); ++i) {
    const Arm& arm = *arms[i];
    LineChart chart;
    chart.text = {kind.key + "-of-" + std::to_string(i + 1),
                  titles[i],
                  "Held-out " + kind.name + " of " + arm.name +
                      " against training steps: mean over seeds with its 95 % interval, and the "
                      "reference's mean as a thin line.",
                  "training steps",
                  "",
                  "evaluations.csv"};
    chart.small = true;
    chart.y_covers = {least, most};
    if (measure == Measure::kLoss && least > 0 && most >= 2 * least) chart.y_scale = Scale::kLog;
    if (&arm != &reference && reference.chosen() != nullptr)
      chart.series.push_back(mean_of(reference, Series::Stroke::kLine));
    if (static_cast<int64_t>(arm.chosen()->finished.size()) >= kFewestForInterval) {
      Band band{arm.look, {}};
      for (const CurvePoint& p : curve_estimates(arm.chosen()->finished, measure, Clock::kSteps))
        band.points.push_back({p.x, p.y.low, p.y.high});
      chart.bands.push_back(std::move(band));
    }
    chart.series.push_back(mean_of(arm, Series::Stroke::kMean));
    html += figure(chart);
  }
  return "<div class=\"many\">\n" + html + "</div>\n";
}

}  // namespace

// What they differ by comes first, and then each by itself.
std::string many_curves(const Study& study) {
  if (shown(study.summary).size() <= kMostTogether) return "";
  return differences_over_training(study.summary) + "<h3>Acceptance length, arm by arm</h3>\n" +
         arm_by_arm(study, Measure::kAcceptanceLength) +
         paragraph("All on one scale; the line without markers is " +
                       escape(study.summary.arms[study.summary.reference].name) + ".",
                   "note") +
         details("Loss, arm by arm", arm_by_arm(study, Measure::kLoss), "figures");
}

}  // namespace draftlab

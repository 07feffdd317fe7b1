#include <algorithm>
#include <set>

#include "reports/answer.h"
#include "reports/chart.h"
#include "reports/drawing.h"
#include "reports/html.h"
#include "reports/option.h"
#include "reports/sections.h"

namespace draftlab {
namespace {

double rate(const Setting& setting) { return setting.optimizer.learning_rate(); }

void add_arm(const Arm& arm, Measure measure, LineChart& chart) {
  for (const auto& settings : rate_curves(arm)) {
    Series means{arm.look, arm.name, {}, Series::Stroke::kLine};
    Series dots{arm.look, arm.name, {}, Series::Stroke::kDots};
    for (const Setting* setting : settings) {
      const Sample& sample = deciding(*setting, measure);
      means.points.push_back({rate(*setting), sample.estimate.mean});
      for (double value : sample.values) dots.points.push_back({rate(*setting), value});
      if (setting->diverged > 0) {
        chart.diverged.push_back({arm.look, arm.name, rate(*setting), setting->diverged});
      }
    }
    chart.series.push_back(std::move(means));
    chart.series.push_back(std::move(dots));
  }
  if (arm.chosen() != nullptr) {
    chart.rings.push_back(
        {arm.look, {rate(*arm.chosen()), deciding(*arm.chosen(), measure).estimate.mean}});
  }
}

LineChart rate_chart(const Summary& summary, Measure measure) {
  const MeasureKind& kind = kind_of(measure);
  const std::string split = summary.chosen_on == Split::kTuning ? "tuning split" : "held-out split";
  LineChart chart;
  chart.text = {"rates-" + kind.key, capitalized(kind.name) + " against learning rate",
                "Final " + kind.name + " on the " + split +
                    " of every finished run against its learning rate; crosses above the plot are "
                    "diverged runs; rings mark the chosen settings.",
                "learning rate", ""};
  std::set<double> rates;
  for (const Arm& arm : summary.arms) {
    add_arm(arm, measure, chart);
    for (const Setting& setting : arm.settings) rates.insert(rate(setting));
  }
  if (measure == Measure::kLoss) use_log_scale_if_wide(chart);
  chart.x_scale = *rates.begin() > 0 ? Scale::kLog : Scale::kLinear;
  for (const double rate : rates) chart.x_ticks.push_back(number_tick(rate));
  return chart;
}

}  // namespace

std::string settings_section(const Study& study) {
  const Summary& summary = study.summary;
  const bool swept = std::any_of(summary.arms.begin(), summary.arms.end(),
                                 [](const Arm& arm) { return arm.settings.size() > 1; });
  if (!swept) {
    return section("rates", "Learning rates",
                   paragraph("Every arm ran at one setting, so nothing was chosen. Whether another "
                             "learning rate would change the order is not known."));
  }
  const std::string split =
      summary.chosen_on == Split::kTuning ? "the tuning split" : "the held-out split";
  std::string html = legend(summary);
  html += charts_side_by_side(svg(rate_chart(summary, Measure::kAcceptanceLength)),
                              svg(rate_chart(summary, Measure::kLoss)));
  html += paragraph("One dot per finished run on " + split +
                        " at the planned last step; lines join the means. Crosses: diverged runs. "
                        "Rings: the setting chosen for each arm, by its mean " +
                        kind_of(summary.chosen_by).name + " there.",
                    "note");
  HtmlTable table({"arm", "swept", "chosen", ""}, 9);
  for (const Arm& arm : summary.arms) {
    std::string tried, edge;
    for (const SweptOption& option : arm.swept) {
      if (!tried.empty()) tried += "; ";
      tried += option.key + " ";
      for (size_t i = 0; i < option.values.size(); ++i) {
        tried += (i == 0 ? "" : ", ") + option_text(option.values[i]);
      }
      if (option.at_edge) edge += (edge.empty() ? "" : ", ") + option.key;
    }
    table.row(
        {look_sample(arm.look) + " " + escape(arm.name), escape(tried.empty() ? "nothing" : tried),
         escape(arm.chosen() == nullptr       ? "no finished run"
                : arm.chosen()->label.empty() ? "its only setting"
                                              : arm.chosen()->label),
         edge.empty() ? "" : "<span class=\"flag\">at the edge of " + escape(edge) + "</span>"});
  }
  return section("rates", "Learning rates", html + table.html());
}

}  // namespace draftlab

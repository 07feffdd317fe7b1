#include <algorithm>
#include <set>

#include "base/number_text.h"
#include "reports/charts/chart.h"
#include "reports/charts/drawing.h"
#include "reports/page/sections.h"
#include "reports/page/steps_study.h"
#include "reports/study/look.h"
#include "reports/study/step_size.h"
#include "reports/text/html.h"
#include "reports/text/words.h"

namespace draftlab {
namespace {

double rate(const Setting& setting) { return setting.optimizer.learning_rate(); }

// Steps to the right, the exact polar factor behind the largest number of them.
double place(const StepsStudy& study, const StepsPoint& point) {
  if (point.steps > 0) return static_cast<double>(point.steps);
  int64_t most = 0;
  for (const StepsPoint& each : study.points) most = std::max(most, each.steps);
  return static_cast<double>(most + std::max<int64_t>(1, most / 3));
}

LineChart best_rate_chart(const StepsStudy& study, const std::string& id) {
  LineChart chart;
  chart.text = {"best-rate" + id,
                "Best learning rate against orthogonalization steps",
                "The learning rate with the best result for each number of steps, with the exact "
                "polar factor at the right; small dots are all rates that were tried, rings mark "
                "best rates at the edge of what was tried.",
                "steps",
                "",
                "runs.csv"};
  chart.y_scale = Scale::kLog;
  Series tried{0, "", {}, Series::Stroke::kFaint};
  std::map<std::string, size_t> line_of;  // each orthogonalizer's place in the series
  std::set<double> labelled;
  for (size_t i = 0; i < study.points.size(); ++i) {
    const StepsPoint& point = study.points[i];
    const double x = place(study, point);
    for (const Setting* setting : point.settings) tried.points.push_back({x, rate(*setting)});
    if (labelled.insert(x).second) {
      chart.x_ticks.push_back(
          {x, point.steps == 0 ? point.orthogonalizer : std::to_string(point.steps)});
    }
    if (point.best == nullptr) continue;
    const Point at{x, rate(*point.best)};
    const auto [line, added] = line_of.emplace(point.orthogonalizer, chart.series.size());
    if (added) chart.series.push_back({i, point.orthogonalizer, {}, Series::Stroke::kLine});
    chart.series[line->second].points.push_back(at);
    if (point.at_edge) chart.rings.push_back({i, at});
  }
  for (size_t i = 0; i < study.points.size(); ++i) {
    const StepsPoint& point = study.points[i];
    if (point.best == nullptr) continue;
    chart.series.push_back(
        {i, point.label, {{place(study, point), rate(*point.best)}}, Series::Stroke::kMean});
  }
  chart.series.push_back(std::move(tried));
  std::sort(chart.x_ticks.begin(), chart.x_ticks.end(),
            [](const Tick& a, const Tick& b) { return a.value < b.value; });
  return chart;
}

// Of the points, by the kind of optimizer that they are settings of.
std::vector<size_t> looks_of(const StepsStudy& study) {
  std::vector<std::string> kinds;
  for (const StepsPoint& point : study.points)
    kinds.push_back(point.settings.front()->optimizer.kind);
  return looks(kinds);
}

LineChart rate_chart(const StepsStudy& study, const Summary& summary, const std::string& id) {
  const MeasureKind& kind = kind_of(summary.chosen_by);
  const std::string split = summary.chosen_on == Split::kTuning ? "tuning split" : "held-out split";
  LineChart chart;
  chart.text = {"steps-rates" + id,
                capitalized(kind.name) + " against learning rate",
                "Final " + kind.name + " on the " + split +
                    " of every finished run against its learning rate, a line for each number of "
                    "orthogonalization steps; crosses are diverged runs, rings best rates.",
                "learning rate",
                "",
                "runs.csv"};
  std::set<double> rates;
  const std::vector<size_t> looks = looks_of(study);
  for (size_t i = 0; i < study.points.size(); ++i) {
    const StepsPoint& point = study.points[i];
    Series means{looks[i], point.label, {}, Series::Stroke::kLine};
    Series dots{looks[i], point.label, {}, Series::Stroke::kDots};
    for (const Setting* setting : point.settings) {
      const Sample& sample = deciding(*setting, summary.chosen_by);
      rates.insert(rate(*setting));
      means.points.push_back({rate(*setting), sample.estimate.mean});
      for (const double value : sample.values) dots.points.push_back({rate(*setting), value});
      if (setting->diverged > 0)
        chart.diverged.push_back({looks[i], point.label, rate(*setting), setting->diverged});
    }
    chart.series.push_back(std::move(means));
    chart.series.push_back(std::move(dots));
    if (point.best != nullptr) {
      chart.rings.push_back(
          {looks[i], {rate(*point.best), deciding(*point.best, summary.chosen_by).estimate.mean}});
    }
  }
  if (summary.chosen_by == Measure::kLoss) use_log_scale_if_wide(chart);
  chart.x_scale = *rates.begin() > 0 ? Scale::kLog : Scale::kLinear;
  for (const double each : rates) chart.x_ticks.push_back(number_tick(each));
  return chart;
}

std::string rates_tried(const StepsPoint& point) {
  std::string text;
  for (const Setting* setting : point.settings)
    text += (text.empty() ? "" : ", ") + number_text(rate(*setting));
  return text;
}

std::string points_table(const StepsStudy& study, const Summary& summary) {
  const MeasureKind& kind = kind_of(summary.chosen_by);
  HtmlTable table({"steps", "best rate", kind.name + " there", "seeds", "update / weights there",
                   "diverged", "rates tried"});
  for (size_t i = 0; i < study.points.size(); ++i) {
    const StepsPoint& point = study.points[i];
    const std::string name = look_sample(looks_of(study)[i]) + " " + escape(point.label);
    if (point.best == nullptr) {
      table.wide_row(name, "no finished run");
      continue;
    }
    int64_t diverged = 0;
    for (const Setting* setting : point.settings) diverged += setting->diverged;
    const Estimate& value = deciding(*point.best, summary.chosen_by).estimate;
    const double size = step_size(point.best->finished).value;
    table.row({name,
               number_text(rate(*point.best)) +
                   (point.at_edge ? "<small class=\"flag\">edge of its grid</small>" : ""),
               fixed(value.mean, kind.decimals) +
                   (value.n > 1 ? "<small>± " + fixed(value.sd, kind.decimals) + "</small>" : ""),
               std::to_string(value.n), std::isnan(size) ? "–" : significant(size, 2),
               std::to_string(diverged), rates_tried(point)});
  }
  return table.html();
}

}  // namespace

std::string steps_section(const Study& study) {
  const Summary& summary = study.summary;
  const std::vector<StepsStudy> studies = steps_studies(summary);
  std::string html;
  for (size_t i = 0; i < studies.size(); ++i) {
    const StepsStudy& one = studies[i];
    const std::string id = studies.size() == 1 ? "" : "-" + std::to_string(i + 1);
    if (studies.size() > 1) {
      std::string arms;
      for (const std::string& arm : one.arms) arms += (arms.empty() ? "" : " · ") + arm;
      html += "<h3>" + escape(arms) + "</h3>\n";
    }
    html += paragraph(escape(finding(one, summary)));
    html += "<ul class=\"legend\">\n";
    for (size_t k = 0; k < one.points.size(); ++k)
      html +=
          "<li>" + look_sample(looks_of(one)[k]) + " " + escape(one.points[k].label) + "</li>\n";
    html += "</ul>\n" + side_by_side(best_rate_chart(one, id), rate_chart(one, summary, id));
    html += points_table(one, summary);
  }
  if (html.empty()) return "";
  return section(
      "steps", "Best rate against orthogonalization steps",
      html +
          paragraph(
              "The best rate of each number of steps is chosen as an arm's setting is. Small dots: "
              "all rates tried; ringed in the left chart: best rates at the edge of their grid, "
              "which are no optima. Update over weights: root mean square of one update at the "
              "full rate over that of the weights, median over the matrices, at the first "
              "evaluated "
              "step. Fewer steps "
              "leave singular values smaller, so that an update goes less far at the same rate. "
              "All runs are in <a href=\"runs.csv\">runs.csv</a>.",
              "note"));
}

}  // namespace draftlab

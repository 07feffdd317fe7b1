
#include <cmath>

#include "base/number_text.h"
#include "reports/answer.h"
#include "reports/chart.h"
#include "reports/curve.h"
#include "reports/drawing.h"
#include "reports/html.h"
#include "reports/sections.h"

namespace draftlab {
namespace {

LineChart curve_chart(const Study& study, Measure measure, Clock clock) {
  const Summary& summary = study.summary;
  const MeasureKind& kind = kind_of(measure);
  const bool steps = clock == Clock::kSteps;
  LineChart chart;
  chart.text.id = kind.key + (steps ? "-steps" : "-seconds");
  chart.text.x_label = steps ? "training steps" : "training seconds";
  chart.text.title = capitalized(kind.name) + " against " + (steps ? "steps" : "seconds");
  chart.text.description = "Held-out " + kind.name + " against " + chart.text.x_label +
                           " for the chosen setting of each arm: thick lines are means over "
                           "seeds, thin lines single seeds.";
  if (!steps && shared_machine(summary)) chart.text.mark = "\u2020 shared machine";
  for (const Arm& arm : summary.arms) {
    if (arm.chosen() == nullptr) continue;
    const auto& runs = arm.chosen()->finished;
    for (const Result* run : runs) {
      if (runs.size() < 2) break;  // the mean is the run
      chart.series.push_back(
          {arm.look, run->run, run->curve(measure, clock), Series::Stroke::kSeed});
    }
    chart.series.push_back(
        {arm.look, arm.name, mean_curve(runs, measure, clock), Series::Stroke::kMean});
  }
  if (measure == Measure::kLoss) use_log_scale_if_wide(chart);
  if (measure == Measure::kAcceptanceLength && summary.baselines) {
    chart.levels.push_back({summary.baselines->bigram_acceptance_length, "bigram chain"});
  }
  if (study.plan.target.metric == kind.key) {
    chart.levels.push_back(
        {study.plan.target.value, "target " + number_text(study.plan.target.value)});
  }
  return chart;
}

}  // namespace

bool shared_machine(const Summary& summary) {
  for (const Arm& arm : summary.arms) {
    if (arm.chosen() == nullptr) continue;
    for (const Result* run : arm.chosen()->finished) {
      if (run->alone == false) return true;
    }
  }
  return false;
}

std::string legend(const Summary& summary) {
  std::string html = "<ul class=\"legend\">\n";
  for (const Arm& arm : summary.arms) {
    if (arm.chosen() == nullptr) continue;
    html += "<li>" + look_sample(arm.look) + " " + escape(arm.name);
    if (!arm.chosen()->label.empty()) html += " <small>" + escape(arm.chosen()->label) + "</small>";
    html += "</li>\n";
  }
  return html + "</ul>\n";
}

std::string charts_side_by_side(const std::string& first, const std::string& second) {
  return "<div class=\"pair\">\n<figure>" + first + "</figure>\n<figure>" + second +
         "</figure>\n</div>\n";
}

std::string curves_section(const Study& study) {
  const Summary& summary = study.summary;
  if (std::isnan(summary.equal_seconds)) {
    return section("curves", "Curves", paragraph("No run has finished yet."));
  }
  std::string html = legend(summary);
  for (Measure measure : {Measure::kAcceptanceLength, Measure::kLoss}) {
    html += charts_side_by_side(svg(curve_chart(study, measure, Clock::kSteps)),
                                svg(curve_chart(study, measure, Clock::kSeconds)));
  }
  std::string note =
      "Held-out split. Thick lines with markers: mean over seeds, at its evaluations; thin lines: "
      "single seeds. Nothing is smoothed. Seconds are those of training alone: reading data, "
      "forward and backward, and the optimizer; evaluation and checkpoints are off the clock.";
  if (shared_machine(summary)) {
    note +=
        " <strong>† Some of these runs shared the machine with another run, so their seconds are "
        "longer than alone.</strong>";
  }
  return section("curves", "Loss and acceptance length", html + paragraph(note, "note"));
}

std::string survival_section(const Study& study) {
  const Summary& summary = study.summary;
  LineChart chart;
  chart.text = {"survival", "Share of blocks whose slots 1..k are all right",
                "For each slot k of the block, the share of held-out blocks whose slots 1 to k all "
                "match the data, at the end of training.",
                "slot k", ""};
  chart.y_from_zero = true;
  std::vector<std::string> head = {"arm"};
  for (const Arm& arm : summary.arms) {
    if (arm.chosen() == nullptr) continue;
    const auto& runs = arm.chosen()->finished;
    for (const Result* run : runs) {
      if (runs.size() < 2) break;
      chart.series.push_back({arm.look, run->run, survival(*run), Series::Stroke::kSeed});
    }
    chart.series.push_back({arm.look, arm.name, mean_survival(runs), Series::Stroke::kMean});
    const std::vector<Point>& mean = chart.series.back().points;
    while (head.size() <= mean.size()) {
      head.push_back("slot " + std::to_string(head.size()));
      chart.x_ticks.push_back(number_tick(static_cast<double>(head.size() - 1)));
    }
  }
  if (chart.series.empty()) return "";
  HtmlTable table(head);
  for (const Series& series : chart.series) {
    if (series.stroke != Series::Stroke::kMean) continue;
    std::vector<std::string> cells = {look_sample(series.look) + " " + escape(series.name)};
    for (const Point& point : series.points) cells.push_back(fixed(point.y, 3));
    cells.resize(head.size(), "–");
    table.row(cells);
  }
  return section(
      "slots", "Acceptance per slot",
      "<figure class=\"single\">" + svg(chart) + "</figure>\n" + table.html() +
          paragraph("Acceptance length is 1 plus the sum of these shares: the token that "
                    "the target itself adds is counted.",
                    "note"));
}

}  // namespace draftlab

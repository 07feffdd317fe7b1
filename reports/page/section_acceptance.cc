#include <algorithm>
#include <cmath>

#include "base/number_text.h"
#include "reports/charts/chart.h"
#include "reports/charts/drawing.h"
#include "reports/page/sections.h"
#include "reports/study/acceptance_summary.h"
#include "reports/study/curve.h"
#include "reports/text/html.h"

namespace draftlab {
namespace {

std::string cell(const PromptMean& mean) {
  std::string text = fixed(mean.value, 3);
  if (!std::isnan(mean.low))
    text += "<small>" + fixed(mean.low, 3) + " to " + fixed(mean.high, 3) + "</small>";
  return text;
}

// A dot for every finished run; those of settings that were not chosen stay in the background.
LineChart loss_against_acceptance(const Summary& summary) {
  LineChart chart;
  chart.text = {"loss-acceptance",
                "Acceptance length against loss, at the end",
                "Final held-out acceptance length of every finished run against its final held-out "
                "loss; a marker for each arm at its chosen setting, small dots for other settings.",
                "loss",
                "",
                "runs.csv"};
  const auto at = [](const Result& run) {
    return Point{run.final(Split::kHeldOut, Measure::kLoss),
                 run.final(Split::kHeldOut, Measure::kAcceptanceLength)};
  };
  Series others{0, "", {}, Series::Stroke::kFaint};
  for (const Arm& arm : summary.arms) {
    Series chosen{arm.look, arm.name, {}, Series::Stroke::kDots};
    for (const Setting& setting : arm.settings) {
      const bool is_chosen = &setting == arm.chosen();
      for (const Result* run : setting.finished)
        (is_chosen ? chosen : others).points.push_back(at(*run));
    }
    chart.series.push_back(std::move(chosen));
  }
  chart.series.push_back(std::move(others));
  return chart;
}

// Of the chosen setting's finished runs the mean of one number a slot; empty where one has none.
std::vector<Point> mean_of_slots(const std::vector<const Result*>& runs,
                                 std::vector<double> EvaluationRow::*slots) {
  std::vector<Point> points;
  const size_t count = runs.empty() || runs.front()->held_out.empty()
                           ? 0
                           : (runs.front()->held_out.back().*slots).size();
  for (size_t k = 0; k < count; ++k) {
    std::vector<double> values;
    for (const Result* run : runs) {
      if (run->held_out.empty() || (run->held_out.back().*slots).size() != count) return {};
      values.push_back((run->held_out.back().*slots)[k]);
    }
    points.push_back({static_cast<double>(k + 1), estimate(values).mean});
  }
  return points;
}

// How often the label is among a drafter's likeliest tokens: what a tree of drafts can still find
// where the first choice is wrong. Empty where no run recorded it.
std::string recall_figures(const Summary& summary, const std::vector<Tick>& ticks) {
  const auto chart_of = [&](const std::string& k, std::vector<double> EvaluationRow::*slots) {
    LineChart chart;
    chart.text = {"recall-" + k,
                  "Label among the " + k + " likeliest",
                  "For each slot of the block, the share of held-out blocks whose label is among "
                  "the " +
                      k +
                      " tokens that the drafter finds likeliest there, at the end of "
                      "training; means over runs.",
                  "slot",
                  "",
                  "evaluations.csv"};
    chart.y_from_zero = true;
    chart.small = true;
    chart.x_ticks = ticks;
    for (const Arm& arm : summary.arms) {
      if (arm.chosen() == nullptr) continue;
      auto points = mean_of_slots(arm.chosen()->finished, slots);
      if (!points.empty())
        chart.series.push_back({arm.look, arm.name, std::move(points), Series::Stroke::kMean});
    }
    return chart;
  };
  std::vector<LineChart> charts = {chart_of("1", &EvaluationRow::slot_accuracy),
                                   chart_of("2", &EvaluationRow::top_2_recall),
                                   chart_of("8", &EvaluationRow::top_8_recall)};
  if (charts.back().series.empty()) return "";
  double most = 0;
  for (const LineChart& chart : charts)
    for (const Series& series : chart.series)
      for (const Point& point : series.points) most = std::max(most, point.y);
  std::string html;
  for (LineChart& chart : charts) {
    chart.y_covers = {most};  // one scale
    html += figure(chart);
  }
  return "<div class=\"many\">\n" + html + "</div>\n";
}

}  // namespace

std::string acceptance_section(const Study& study) {
  HtmlTable table({"arm", "joint, pooled", "joint, per response", "product of marginals",
                   "marginal accuracy", "prompts"});
  bool any = false;
  for (const Arm& arm : study.summary.arms) {
    if (arm.chosen() == nullptr) continue;
    any = true;
    const AcceptanceSummary acceptance = acceptance_of(*arm.chosen());
    const int64_t prompts = acceptance.pooled.prompts;
    table.row({look_sample(arm.look) + " " + escape(arm.name), cell(acceptance.pooled),
               cell(acceptance.per_response), fixed(acceptance.product, 3),
               fixed(acceptance.marginal, 3),
               prompts > 0 ? std::to_string(prompts) : "not recorded"});
  }
  if (!any) return "";
  return section(
      "acceptance", "Acceptance length by its definitions",
      table.html_without_constants() +
          paragraph(
              "At the end of training, the finished seeds of the chosen setting together. Joint is "
              "what this report calls acceptance length; the product of marginals is what it would "
              "be if slots matched independently, and the marginal accuracy is the share of slots "
              "that match, no length. Never compare across columns. Below the joint lengths stand "
              "95 % intervals from resampling prompts: how far they would move with other prompts "
              "and the same drafters.",
              "note"));
}

std::string survival_section(const Study& study) {
  const Summary& summary = study.summary;
  LineChart chart;
  chart.text = {"survival",
                "Share of blocks whose slots 1..k are all right",
                "For each slot k of the block, the share of held-out blocks whose slots 1 to k all "
                "match the data, at the end of training.",
                "slot k",
                "",
                "evaluations.csv"};
  chart.y_from_zero = true;
  LineChart given = chart;
  given.text.id = "given-before";
  given.text.title = "Slot k right, given that 1..k−1 are";
  given.text.description =
      "For each slot k of the block, of the held-out blocks whose slots before it all match the "
      "data, the share whose slot k does too, at the end of training.";
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
    given.series.push_back(
        {arm.look, arm.name, given_the_ones_before(mean), Series::Stroke::kMean});
    while (head.size() <= mean.size()) {
      head.push_back("slot " + std::to_string(head.size()));
      chart.x_ticks.push_back(number_tick(static_cast<double>(head.size() - 1)));
    }
  }
  if (chart.series.empty()) return "";
  given.x_ticks = chart.x_ticks;
  HtmlTable table(head);
  for (const Series& series : chart.series) {
    if (series.stroke != Series::Stroke::kMean) continue;
    std::vector<std::string> cells = {look_sample(series.look) + " " + escape(series.name)};
    for (const Point& point : series.points) cells.push_back(fixed(point.y, 3));
    cells.resize(head.size(), "–");
    table.row(cells);
  }
  return section(
      "slots", "Acceptance per slot, and against loss",
      side_by_side(chart, given) + table.html() + recall_figures(summary, chart.x_ticks) +
          figure(loss_against_acceptance(summary), "single") +
          paragraph("Acceptance length is 1 plus the sum of the shares on the left: the token that "
                    "the target itself adds is counted. On the right what a slot adds once all "
                    "before it are right. Below a dot per run: markers for the chosen settings, "
                    "small dots for all others.",
                    "note"));
}

}  // namespace draftlab

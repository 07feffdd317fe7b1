// Ends of several lengths of training: the law behind them, and what a second buys.
#include <algorithm>
#include <cmath>

#include "base/number_text.h"
#include "reports/charts/chart.h"
#include "reports/charts/drawing.h"
#include "reports/page/sections.h"
#include "reports/study/budget_study.h"
#include "reports/text/html.h"
#include "reports/text/words.h"

namespace draftlab {
namespace {

constexpr int kLossDecimals = 3, kLengthDecimals = 3;

std::string cell(const Estimate& e, int decimals) {
  std::string text = fixed(e.mean, decimals);
  if (e.n >= kFewestForInterval)
    text += "<small>" + interval_text(e.low, e.high, decimals) + "</small>";
  return text;
}

LineChart ends_chart(const BudgetStudy& study) {
  LineChart chart;
  chart.text = {"budget-ends",
                "Loss at the end of a whole schedule",
                "Held-out loss at the end of training against the labels trained on, for every "
                "length of training and kind of optimizer; dots are single runs, the line without "
                "markers the law fitted to the reference kind.",
                "labels trained on",
                "",
                "budgets.csv"};
  chart.x_scale = Scale::kLog;
  for (const BudgetKind& kind : study.kinds) {
    Series means{kind.look, kind.title, {}, Series::Stroke::kMean};
    Series runs{kind.look, "", {}, Series::Stroke::kFaint};
    for (const BudgetEnd& end : kind.ends) {
      means.points.push_back({end.tokens, end.loss.mean});
      for (const Result* run : end.arm->chosen()->finished)
        runs.points.push_back(
            {static_cast<double>(run->tokens), run->final(Split::kHeldOut, Measure::kLoss)});
    }
    chart.series.push_back(std::move(runs));
    chart.series.push_back(std::move(means));
  }
  if (!study.trends.empty()) {
    const PowerLaw& law = study.trends.front().law;
    if (law.refusal.empty() && !study.trends.front().by_line) {
      Series curve{0, "law", {}, Series::Stroke::kPlain};
      const auto& ends = study.kinds.front().ends;
      const double first = ends.front().tokens, last = ends.back().tokens;
      for (int i = 0; i <= 40; ++i) {
        const double tokens = first * std::pow(last / first, i / 40.0);
        curve.points.push_back(
            {tokens, law.scale * std::pow(tokens / law.unit, -law.exponent) + law.floor});
      }
      chart.series.push_back(std::move(curve));
    }
  }
  chart.names_at_ends = true;
  return chart;
}

LineChart frontier_chart(const BudgetStudy& study) {
  LineChart chart;
  chart.text = {"budget-frontier",
                "Acceptance length at the end of a whole schedule",
                "Held-out acceptance length at the end of training against the seconds that it "
                "took, for every length of training and kind of optimizer; the line without "
                "markers joins the ends that no other reaches in as few seconds.",
                "training seconds",
                "",
                "budgets.csv"};
  chart.x_scale = Scale::kLog;
  std::vector<Point> frontier;
  for (const BudgetKind& kind : study.kinds) {
    Series means{kind.look, kind.title, {}, Series::Stroke::kMean};
    for (const BudgetEnd& end : kind.ends) {
      means.points.push_back({end.seconds.mean, end.length.mean});
      if (end.on_frontier) frontier.push_back(means.points.back());
    }
    std::ranges::sort(means.points, {}, &Point::x);
    chart.series.push_back(std::move(means));
  }
  std::ranges::sort(frontier, {}, &Point::x);
  chart.series.push_back({0, "frontier", std::move(frontier), Series::Stroke::kPlain});
  chart.names_at_ends = true;
  return chart;
}

std::string law_text(const BudgetStudy& study) {
  std::string html;
  for (size_t k = 0; k < study.trends.size(); ++k) {
    const ReturnsTrend& trend = study.trends[k];
    const std::string against =
        escape(study.kinds[k + 1].title) + " against " + escape(study.kinds.front().title) + ": ";
    if (trend.law.refusal.empty() && !trend.by_line) {
      html += paragraph(against + "the law of " + escape(study.kinds.front().title) +
                        " has exponent " + significant(trend.law.exponent, 2) + " and floor " +
                        significant(trend.law.floor, 3) + " (floors of " +
                        significant(trend.least_floor, 3) + " to " +
                        significant(trend.most_floor, 3) + " fit about as well).");
    } else if (trend.by_line) {
      html += paragraph(against + "the ends of " + escape(study.kinds.front().title) +
                        " show no floor; ratios are read off a straight line in the logarithm of "
                        "the labels, inside the measured range alone.");
    }
    if (!trend.refusal.empty())
      html += paragraph(against + "nothing is extrapolated: " + escape(trend.refusal) + ".");
  }
  return html;
}

}  // namespace

std::string budgets_section(const Study& study) {
  const BudgetStudy budgets = budget_study(study);
  if (budgets.kinds.empty()) return "";
  HtmlTable table({"optimizer", "steps", "sequences<br>(epochs)", "labels", "runs",
                   "training seconds", "loss", "acceptance length", "times less data", "frontier"});
  for (const BudgetKind& kind : budgets.kinds) {
    for (const BudgetEnd& end : kind.ends) {
      table.row(
          {look_sample(kind.look) + " " + escape(kind.title), grouped(end.steps),
           grouped(std::llround(end.sequences)) + "<small>" + significant(end.epochs, 2) +
               " epochs</small>",
           grouped(std::llround(end.tokens)), std::to_string(end.loss.n),
           significant(end.seconds.mean, 3), cell(end.loss, kLossDecimals),
           cell(end.length, kLengthDecimals),
           std::isnan(end.data.ratio)
               ? "–"
               : significant(end.data.ratio, 3) +
                     (std::isnan(end.data.low) ? ""
                                               : "<small>" + significant(end.data.low, 3) + " to " +
                                                     significant(end.data.high, 3) + "</small>"),
           end.on_frontier ? "yes" : "no"});
    }
  }
  return section(
      "budgets", "Budgets and frontier",
      side_by_side(ends_chart(budgets), frontier_chart(budgets)) + table.html_without_constants() +
          law_text(budgets) +
          paragraph("Each end is that of a whole schedule, at its chosen setting. On the frontier "
                    "is what no other end reaches in as few seconds. Times less data: how many "
                    "times more labels " +
                        escape(budgets.kinds.front().title) +
                        " needs for that loss, by the law through its ends. Below means 95 % "
                        "intervals over seeds; those of ratios hold the error of the law.",
                    "note"));
}

}  // namespace draftlab

#include <algorithm>
#include <cmath>
#include <set>

#include "base/number_text.h"
#include "record/option.h"
#include "reports/charts/chart.h"
#include "reports/charts/drawing.h"
#include "reports/page/sections.h"
#include "reports/text/html.h"
#include "reports/text/words.h"

namespace draftlab {
namespace {

double rate(const Setting& setting) { return setting.optimizer.learning_rate(); }

bool best_rate_at_edge(const Arm& arm) {
  return std::any_of(arm.swept.begin(), arm.swept.end(), [](const SweptOption& option) {
    return option.key == "learning_rate" && option.at_edge;
  });
}

void add_arm(const Arm& arm, Measure measure, LineChart& chart) {
  std::set<double> tried;
  for (const auto& settings : rate_curves(arm)) {
    Series means{arm.look, arm.name, {}, Series::Stroke::kLine};
    Series dots{arm.look, arm.name, {}, Series::Stroke::kDots};
    for (const Setting* setting : settings) {
      tried.insert(rate(*setting));
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
  if (tried.size() > 1) {
    chart.columns.push_back({arm.look, *tried.begin()});
    chart.columns.push_back({arm.look, *tried.rbegin()});
  }
  if (arm.chosen_trial() != nullptr) {
    chart.rings.push_back(
        {arm.look,
         {rate(*arm.chosen_trial()), deciding(*arm.chosen_trial(), measure).estimate.mean},
         best_rate_at_edge(arm) ? "edge" : ""});
  }
}

LineChart rate_chart(const Summary& summary, Measure measure) {
  const MeasureKind& kind = kind_of(measure);
  const std::string split = summary.chosen_on == Split::kTuning ? "tuning split" : "held-out split";
  LineChart chart;
  chart.text = {
      "rates-" + kind.key,
      capitalized(kind.name) + " against learning rate",
      "Final " + kind.name + " on the " + split +
          " of every finished run against its learning rate; crosses above the plot are "
          "diverged runs; rings mark the chosen settings, shaded columns the edges of what each "
          "arm tried.",
      "learning rate",
      "",
      "runs.csv"};
  std::set<double> rates;
  for (const Arm& arm : summary.arms) {
    add_arm(arm, measure, chart);
    for (const Setting& setting : arm.tried()) rates.insert(rate(setting));
  }
  if (measure == Measure::kLoss) use_log_scale_if_wide(chart);
  chart.x_scale = *rates.begin() > 0 ? Scale::kLog : Scale::kLinear;
  for (const double rate : rates) chart.x_ticks.push_back(number_tick(rate));
  return chart;
}

// What the trials of each phase decided, with their numbers.
std::string decisions_table(const Study& study) {
  if (study.plan.decisions.empty()) return "";
  const MeasureKind& kind = kind_of(study.summary.chosen_by);
  HtmlTable table({"arm", "trials: mean " + kind.name + " on the tuning split", "best", "then"}, 9);
  for (const TuningDecision& decision : study.plan.decisions) {
    std::string trials;
    for (const TrialScore& trial : decision.trials) {
      trials += (trials.empty() ? "" : "; ") +
                (trial.point.empty() ? "only setting" : escape(trial.point)) + ": " +
                (std::isnan(trial.mean) ? "no number" : fixed(trial.mean, kind.decimals)) +
                (trial.diverged > 0 ? " (" + std::to_string(trial.diverged) + " diverged)" : "");
    }
    const bool none = std::ranges::all_of(
        decision.trials, [](const TrialScore& trial) { return std::isnan(trial.mean); });
    std::string kept;
    for (const std::string& point : decision.kept) kept += (kept.empty() ? "" : "; ") + point;
    if (decision.step > 0) trials = "at step " + grouped(decision.step) + ": " + trials;
    table.row({escape(decision.arm), trials,
               none                    ? "none"
               : decision.best.empty() ? "only setting"
                                       : escape(decision.best),
               none                     ? "nothing"
               : !decision.kept.empty() ? "went on: " + escape(kept)
               : decision.extended.empty()
                   ? "final runs with fresh seeds"
                   : "tried " + escape(decision.extended) +
                         (decision.limited ? ", the end of the option's range" : "")});
  }
  return details("How the settings were chosen", table.html());
}

}  // namespace

std::string settings_section(const Study& study) {
  const Summary& summary = study.summary;
  const bool swept = std::any_of(summary.arms.begin(), summary.arms.end(),
                                 [](const Arm& arm) { return arm.tried().size() > 1; });
  if (!swept) {
    return section("rates", "Learning rates",
                   paragraph("Every arm ran at one setting, so nothing was chosen. Whether another "
                             "learning rate would change the order is not known."));
  }
  const std::string split =
      summary.chosen_on == Split::kTuning ? "the tuning split" : "the held-out split";
  std::string html = legend(summary);
  html += side_by_side(rate_chart(summary, Measure::kAcceptanceLength),
                       rate_chart(summary, Measure::kLoss));
  html += paragraph("One dot per finished run on " + split +
                        " at the planned last step; lines join the means. Crosses: diverged runs. "
                        "Rings: the setting chosen for each arm, by its mean " +
                        kind_of(summary.chosen_by).name +
                        " there. Shaded columns: the lowest and the highest rate of each arm; a "
                        "best rate there is no optimum.",
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
         escape(arm.chosen_trial() == nullptr       ? "no finished run"
                : arm.chosen_trial()->label.empty() ? "its only setting"
                                                    : arm.chosen_trial()->label),
         edge.empty() ? "" : "<span class=\"flag\">at the edge of " + escape(edge) + "</span>"});
  }
  return section("rates", "Learning rates",
                 html + table.html() + option_surfaces(study) + decisions_table(study));
}

std::string trials_section(const Study& study) {
  const Measure measure = study.summary.chosen_by;
  const MeasureKind& kind = kind_of(measure);
  size_t most = 0;
  for (const Arm& arm : study.summary.arms)
    most = std::max(most, trial_values(arm, measure).size());
  if (most < 2) return "";
  std::vector<std::string> head = {"arm"};
  for (size_t k = 1; k <= most; ++k) head.push_back("best of " + std::to_string(k));
  HtmlTable table(head);
  for (const Arm& arm : study.summary.arms) {
    std::vector<std::string> cells = {look_sample(arm.look) + " " + escape(arm.name)};
    const std::vector<double> values = trial_values(arm, measure);
    const double seconds = trial_seconds(arm) / static_cast<double>(values.size());
    for (double value : expected_best(values, kind.lower_is_better)) {
      const double cost = seconds * static_cast<double>(cells.size());
      cells.push_back((std::isnan(value) ? "no number" : fixed(value, kind.decimals)) + "<small>" +
                      seconds_text(cost) + "</small>");
    }
    cells.resize(head.size(), "–");
    table.row(cells);
  }
  return section(
      "trials", "Best of so many settings",
      table.html() +
          paragraph("The " + kind.name + " on the " +
                        (study.summary.chosen_on == Split::kTuning ? "tuning" : "held-out") +
                        " sequences to expect from the best of k of the settings that were tried, "
                        "over all choices of k; a setting that diverged, or was dropped on the "
                        "way, is the "
                        "worst. Below it the training seconds that k settings cost, at the mean of "
                        "those tried. An arm that leads only in the last column leads by trying "
                        "more.",
                    "note"));
}

}  // namespace draftlab

#include <cmath>

#include "base/number_text.h"
#include "reports/answer.h"
#include "reports/chart.h"
#include "reports/drawing.h"
#include "reports/html.h"
#include "reports/power_law.h"
#include "reports/sections.h"

namespace draftlab {
namespace {

DotChart target_chart(const Summary& summary, Clock clock) {
  const bool steps = clock == Clock::kSteps;
  const std::string unit = steps ? "steps" : "seconds";
  DotChart chart;
  chart.text = {"target-" + unit, "Training " + unit + " to the target",
                "Training " + unit +
                    " that each run of the chosen setting of each arm needs to "
                    "reach the target; crosses are runs that do not.",
                "training " + unit,
                !steps && shared_machine(summary) ? "\u2020 shared machine" : ""};
  chart.strip = "not reached";
  for (const Arm& arm : summary.arms) {
    if (arm.chosen() == nullptr) continue;
    DotRow row{arm.look, arm.name, {}, {}, estimate({})};
    for (const Result* run : arm.chosen()->runs) {
      const auto& value = steps ? run->steps_to_target : run->seconds_to_target;
      if (!value || !(run->done() || run->diverged())) continue;
      row.seeds.push_back(seed_text(run->seeds));
      row.values.push_back(*value);
    }
    chart.rows.push_back(std::move(row));
  }
  return chart;
}

std::string median_text(double value, const std::string& unit) {
  return std::isinf(value) ? "not reached" : significant(value, 3) + " " + unit;
}

// "1.4": so many times less than the reference; both ways where one never gets there.
std::string speedup_cell(double reference, double other) {
  const double factor = speedup(reference, other);
  if (std::isnan(factor)) return "–";
  if (std::isinf(factor)) return "only this arm";
  return factor == 0 ? "only the reference" : significant(factor, 2);
}

// How many times more data the reference would need, if its end points tell.
std::string data_efficiency_note(const Study& study, const Arm& reference) {
  std::vector<EndPoint> points;
  for (const Setting& setting : reference.settings) {
    if (&setting != reference.chosen()) continue;
    for (const Result* run : setting.finished) {
      points.push_back(
          {static_cast<double>(run->tokens), run->final(Split::kHeldOut, Measure::kLoss)});
    }
  }
  const PowerLaw law = fit_power_law(points);
  const std::string what = "How many times more data " + escape(reference.name) +
                           " would need for the loss of another arm";
  if (!law.refusal.empty()) return paragraph(what + " is not told: " + law.refusal + ".", "note");
  std::vector<std::string> parts;
  for (const Arm& arm : study.summary.arms) {
    if (&arm == &reference || arm.chosen() == nullptr) continue;
    const Result& run = *arm.chosen()->finished.front();
    const Estimate loss = at_end(*arm.chosen(), Measure::kLoss).estimate;
    const DataEfficiency efficiency =
        data_efficiency(law, static_cast<double>(run.tokens), loss.mean,
                        std::isnan(loss.sd) ? 0 : loss.sd / std::sqrt(static_cast<double>(loss.n)));
    parts.push_back(significant(efficiency.ratio, 3) + " (" + significant(efficiency.low, 3) +
                    " to " + significant(efficiency.high, 3) + ") for " + escape(arm.name));
  }
  return paragraph(what + ", by a power law through its end points: " + joined(parts) + ".");
}

std::string milliseconds(const Sample& sample) {
  return significant(1000 * sample.estimate.mean, 3);
}

}  // namespace

std::string target_section(const Study& study) {
  const Summary& summary = study.summary;
  if (study.plan.target.metric.empty()) {
    return section("target", "Time to target",
                   paragraph("The sweep names no target, so there is none to reach."));
  }
  const Arm& reference = summary.arms[summary.reference];
  const std::string than = "<br>than " + escape(reference.name);
  HtmlTable table({"arm", "runs that reached it", "median steps", "median seconds",
                   "times fewer steps" + than, "times fewer seconds" + than});
  bool any = false;
  for (const Arm& arm : summary.arms) {
    const Setting* setting = arm.chosen();
    if (setting == nullptr || setting->target.of == 0) {
      table.wide_row(escape(arm.name), "no finished run");
      continue;
    }
    any |= setting->target.reached > 0;
    table.row(
        {look_sample(arm.look) + " " + escape(arm.name),
         std::to_string(setting->target.reached) + " of " + std::to_string(setting->target.of),
         median_text(setting->target.steps, "steps"), median_text(setting->target.seconds, "s"),
         reference.chosen() == nullptr
             ? "–"
             : speedup_cell(reference.chosen()->target.steps, setting->target.steps),
         reference.chosen() == nullptr
             ? "–"
             : speedup_cell(reference.chosen()->target.seconds, setting->target.seconds)});
  }
  std::string html = paragraph("Target, fixed before anything ran: held-out " +
                               escape(target_text(study.plan.target)) + ".");
  html += table.html();
  if (any) {
    html += charts_side_by_side(svg(target_chart(summary, Clock::kSteps)),
                                svg(target_chart(summary, Clock::kSeconds)));
  }
  html += paragraph(
      "The first of two evaluations in a row that reach the target counts, moved back along the "
      "straight line from the one before it; nothing is smoothed. A run that never gets there, or "
      "that diverges, counts as infinite; the median is over all runs of the setting.",
      "note");
  if (reference.chosen() != nullptr) html += data_efficiency_note(study, reference);
  return section("target", "Time to target", html);
}

std::string seconds_section(const Study& study) {
  const Summary& summary = study.summary;
  BarChart chart;
  chart.text = {"step-parts", "Milliseconds per training step",
                "Mean time of one training step per arm, split into model, optimizer and data.",
                "milliseconds", shared_machine(summary) ? "\u2020 shared machine" : ""};
  HtmlTable table({"arm", "forward and backward", "optimizer", "data", "step"});
  for (const Arm& arm : summary.arms) {
    const Setting* setting = arm.chosen();
    if (setting == nullptr) continue;
    const std::string total = milliseconds(setting->seconds_per_step);
    chart.rows.push_back({arm.name,
                          {1000 * setting->model_per_step.estimate.mean,
                           1000 * setting->optimizer_per_step.estimate.mean,
                           1000 * setting->data_per_step.estimate.mean},
                          total + " ms"});
    table.row({look_sample(arm.look) + " " + escape(arm.name),
               milliseconds(setting->model_per_step), milliseconds(setting->optimizer_per_step),
               milliseconds(setting->data_per_step), total});
  }
  if (chart.rows.empty()) return "";
  const std::string key = "<ul class=\"legend\"><li>" + part_sample(0) +
                          " forward and backward</li><li>" + part_sample(1) +
                          " optimizer</li><li>" + part_sample(2) + " data</li></ul>\n";
  return section("seconds", "Seconds per step",
                 key + "<figure class=\"wide\">" + svg(chart) + "</figure>\n" + table.html() +
                     paragraph("Milliseconds, mean over the finished runs of each arm's chosen "
                               "setting. Evaluation and checkpoints are not in them.",
                               "note"));
}

}  // namespace draftlab

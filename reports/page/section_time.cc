#include <cmath>

#include "base/number_text.h"
#include "reports/charts/chart.h"
#include "reports/charts/drawing.h"
#include "reports/page/sections.h"
#include "reports/stats/power_law.h"
#include "reports/study/comparison.h"
#include "reports/study/measure.h"
#include "reports/text/html.h"
#include "reports/text/words.h"

namespace draftlab {
namespace {

DotChart target_chart(const Summary& summary, Clock clock) {
  const bool steps = clock == Clock::kSteps;
  const std::string unit = steps ? "steps" : "seconds";
  DotChart chart;
  chart.text = {"target-" + unit,
                "Training " + unit + " to the target",
                "Training " + unit +
                    " that each run of the chosen setting of each arm needs to "
                    "reach the target; crosses are runs that do not.",
                "training " + unit,
                !steps && shared_machine(summary) ? "\u2020 shared machine" : "",
                "runs.csv"};
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

// "1.4", so many times less than the reference, or who gets there alone; and below it what the
// seeds in common say: "1.2 to 1.7, n 3".
std::string speedup_cell(const Speedup& speedup) {
  if (std::isnan(speedup.ratio)) return "–";
  if (std::isinf(speedup.ratio)) return "only this arm";
  if (speedup.ratio == 0) return "only the reference";
  const std::string n = std::to_string(speedup.seeds);
  std::string note = "no seed in common";
  if (speedup.reached < speedup.seeds)
    note = std::to_string(speedup.reached) + " of " + n + " seeds";
  else if (speedup.seeds == 1)
    note = "one seed";
  else if (speedup.seeds > 1)
    note = significant(speedup.low, 3) + " to " + significant(speedup.high, 3) + ", n " + n;
  return significant(speedup.ratio, 3) + "<small>" + note + "</small>";
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
  if (law.at_bound) {
    return paragraph(what + " is not told: its end points show no floor at or above 0.", "note");
  }
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
  return paragraph(what + ", by a power law through its end points (exponent " +
                   significant(law.exponent, 2) + ", floor " + significant(law.floor, 3) +
                   "): " + joined(parts) + ".");
}

// What so many steps visit, in words that do not depend on how many slots of a block have labels.
std::string sequences_text(const SegmentConfig& config, double steps) {
  const std::string text = median_text(sequences_after(config, steps), "sequences");
  if (!std::isfinite(steps)) return text;
  return text + "<small>" + significant(epochs_after(config, steps), 2) + " epochs</small>";
}

}  // namespace

std::string target_section(const Study& study) {
  const Summary& summary = study.summary;
  if (study.plan.target.metric.empty()) {
    return section("target", "Time to target",
                   paragraph(study.sources.size() > 1
                                 ? "The folders name no target in common, so there is none to "
                                   "reach."
                                 : "The sweep names no target, so there is none to reach."));
  }
  const Arm& reference = summary.arms[summary.reference];
  const std::string than = "<br>than " + escape(reference.name);
  HtmlTable table({"arm", "runs that reached it", "median steps", "sequences<br>(epochs)",
                   "median tokens", "median seconds", "times fewer steps" + than,
                   "times fewer tokens" + than, "times fewer seconds" + than});
  bool any = false;
  for (const Arm& arm : summary.arms) {
    const Setting* setting = arm.chosen();
    if (setting == nullptr || setting->target.of == 0) {
      table.wide_row(escape(arm.name), "no finished run");
      continue;
    }
    const TargetCount& target = setting->target;
    any |= target.reached > 0;
    std::vector<std::string> cells = {
        look_sample(arm.look) + " " + escape(arm.name),
        std::to_string(target.reached) + " of " + std::to_string(target.of),
        median_text(target.steps, "steps"),
        sequences_text(setting->runs.front()->config, target.steps),
        median_text(target.tokens, "tokens"),
        median_text(target.seconds, "s")};
    for (const Clock clock : {Clock::kSteps, Clock::kTokens, Clock::kSeconds}) {
      cells.push_back(&arm == &reference || reference.chosen() == nullptr
                          ? "–"
                          : speedup_cell(speedup_at_target(*reference.chosen(), *setting, clock)));
    }
    table.row(cells);
  }
  std::string html = paragraph("Target, fixed before anything ran: held-out " +
                               escape(target_text(study.plan.target)) + ".");
  html += table.html();
  if (any) {
    html +=
        side_by_side(target_chart(summary, Clock::kSteps), target_chart(summary, Clock::kSeconds));
  }
  html += paragraph(
      "The first of two evaluations in a row that reach the target counts, moved back along the "
      "straight line from the one before it; nothing is smoothed. A run that never gets there, or "
      "that diverges, counts as infinite; the median is over all runs of the setting. A speed-up "
      "is "
      "the ratio of two medians. Below it stands the 95 % interval of the ratios of runs with "
      "equal "
      "seeds (geometric mean, Student-t on logarithms), where all of these arrived; else how many "
      "did. The numbers are in <a href=\"arms.csv\">arms.csv</a>.",
      "note");
  if (reference.chosen() != nullptr) html += data_efficiency_note(study, reference);
  return section("target", "Time to target", html);
}

}  // namespace draftlab

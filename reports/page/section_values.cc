#include <algorithm>
#include <cmath>

#include "base/number_text.h"
#include "reports/charts/chart.h"
#include "reports/charts/drawing.h"
#include "reports/page/sections.h"
#include "reports/stats/claim.h"
#include "reports/text/html.h"

namespace draftlab {
namespace {

std::string cell(const Estimate& estimate, int decimals) {
  std::string text = fixed(estimate.mean, decimals);
  if (!std::isnan(estimate.sd)) text += "<small>± " + fixed(estimate.sd, decimals) + "</small>";
  return text;
}

// Three digits of the mean, and its spread to the same place; none where the runs share one timing.
std::string rough_cell(const Estimate& estimate, const Setting& setting) {
  const bool timed = std::ranges::any_of(setting.finished,
                                         [](const Result* run) { return run->seconds_from_probe; });
  if (timed) return significant(estimate.mean, 3) + "<small>timed alone</small>";
  if (!std::isfinite(estimate.mean) || estimate.mean == 0) return cell(estimate, 0);
  const int digits_before = 1 + static_cast<int>(std::floor(std::log10(std::abs(estimate.mean))));
  return cell(estimate, std::max(0, 3 - digits_before));
}

std::string target_cell(const TargetCount& count) {
  if (count.of == 0) return "–";
  std::string text = std::to_string(count.reached) + " of " + std::to_string(count.of);
  if (std::isfinite(count.steps)) {
    text += "<small>" + significant(count.steps, 3) + " steps</small>";
  }
  return text;
}

const Sample& first(const Setting& setting, Measure measure) {
  return setting.first[static_cast<size_t>(measure)];
}

// The untrained drafter is the same for every arm; shown of the first arm that has finished runs.
void add_baselines(const Summary& summary, bool with_target, HtmlTable& table) {
  const auto row = [&](std::vector<std::string> cells) {
    cells.resize(with_target ? 8 : 7, "–");
    table.row(cells, "baseline");
  };
  for (const Arm& arm : summary.arms) {
    if (arm.chosen() == nullptr) continue;
    row({"untrained drafter<small>evaluation at step 0</small>",
         std::to_string(arm.chosen()->finished.size()),
         cell(first(*arm.chosen(), Measure::kLoss).estimate, 3),
         cell(first(*arm.chosen(), Measure::kAcceptanceLength).estimate, 3),
         cell(first(*arm.chosen(), Measure::kAcceptanceLengthArgmax).estimate, 3)});
    break;
  }
  if (!summary.baselines) return;
  row({"bigram chain<small>counted on the training part</small>", "–", "–",
       fixed(summary.baselines->bigram_acceptance_length, 3),
       fixed(summary.baselines->bigram_acceptance_length_argmax, 3)});
}

DotChart final_chart(const Summary& summary, Measure measure) {
  const MeasureKind& kind = kind_of(measure);
  DotChart chart;
  chart.text = {"final-" + kind.key,
                "Final " + kind.name,
                "Final held-out " + kind.name +
                    " of every run at the chosen setting of each arm, with mean and 95 % interval.",
                kind.name,
                "",
                "runs.csv"};
  chart.strip = "not a number";
  for (const Arm& arm : summary.arms) {
    if (arm.chosen() == nullptr) continue;
    DotRow row{arm.look,
               arm.name,
               {},
               at_end(*arm.chosen(), measure).values,
               at_end(*arm.chosen(), measure).estimate};
    for (const Result* run : arm.chosen()->finished) row.seeds.push_back(seed_text(run->seeds));
    chart.rows.push_back(std::move(row));
  }
  return chart;
}

}  // namespace

std::string values_section(const Study& study) {
  const Summary& summary = study.summary;
  const bool with_target = !study.plan.target.metric.empty();
  std::vector<std::string> head = {
      "arm",     "seeds",  "loss", "acceptance length", "acceptance length<br>(greedy tokens)",
      "seconds", "steps/s"};
  if (with_target) head.push_back("reached target");
  HtmlTable table(head);
  bool any = false;
  for (const Arm& arm : summary.arms) {
    const Setting* setting = arm.chosen();
    if (setting == nullptr) {
      table.wide_row(escape(arm.name), "no finished run with a final evaluation");
      continue;
    }
    any = true;
    const std::string name =
        look_sample(arm.look) + " " + escape(arm.name) +
        (setting->label.empty() ? "" : "<small>" + escape(setting->label) + "</small>");
    std::vector<std::string> cells = {
        name,
        std::to_string(setting->finished.size()) + " of " + std::to_string(setting->runs.size()),
        cell(at_end(*setting, Measure::kLoss).estimate, 3),
        cell(at_end(*setting, Measure::kAcceptanceLength).estimate, 3),
        cell(at_end(*setting, Measure::kAcceptanceLengthArgmax).estimate, 3),
        rough_cell(setting->train_seconds.estimate, *setting),
        rough_cell(setting->steps_per_second.estimate, *setting)};
    if (with_target) cells.push_back(target_cell(setting->target));
    table.row(cells);
  }
  add_baselines(summary, with_target, table);
  std::string html = table.html_without_constants();
  html += paragraph(
      "Held-out values at the planned last step, mean ± standard deviation over finished seeds, at "
      "the best setting of each arm. All runs are in <a href=\"runs.csv\">runs.csv</a> and <a "
      "href=\"evaluations.csv\">evaluations.csv</a>.",
      "note");
  if (any) {
    html += side_by_side(final_chart(summary, Measure::kAcceptanceLength),
                         final_chart(summary, Measure::kLoss));
    html += paragraph(
        "One dot per seed; grey lines join equal seeds. The bar below each row of dots is the "
        "mean, from " +
            kFewestSeedsInWords + " seeds on with its 95 % interval.",
        "note");
  }
  return section("values", "Final values", html + differences(study));
}

}  // namespace draftlab

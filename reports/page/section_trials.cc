#include <algorithm>
#include <cmath>

#include "base/number_text.h"
#include "reports/charts/drawing.h"
#include "reports/page/sections.h"
#include "reports/text/html.h"

namespace draftlab {
namespace {

// One number per setting that was tried; NaN where it diverged and nothing is left.
std::vector<double> trials(const Arm& arm, Measure measure) {
  std::vector<double> values;
  for (const Setting& setting : arm.tried()) {
    if (!setting.finished.empty()) {
      values.push_back(deciding(setting, measure).estimate.mean);
    } else if (setting.diverged > 0) {
      values.push_back(NAN);
    }
  }
  return values;
}

}  // namespace

std::string trials_section(const Study& study) {
  const Measure measure = study.summary.chosen_by;
  const MeasureKind& kind = kind_of(measure);
  size_t most = 0;
  for (const Arm& arm : study.summary.arms) most = std::max(most, trials(arm, measure).size());
  if (most < 2) return "";
  std::vector<std::string> head = {"arm"};
  for (size_t k = 1; k <= most; ++k) head.push_back("best of " + std::to_string(k));
  HtmlTable table(head);
  for (const Arm& arm : study.summary.arms) {
    std::vector<std::string> cells = {look_sample(arm.look) + " " + escape(arm.name)};
    for (double value : expected_best(trials(arm, measure), kind.lower_is_better))
      cells.push_back(std::isnan(value) ? "may diverge" : fixed(value, kind.decimals));
    cells.resize(head.size(), "–");
    table.row(cells);
  }
  return section(
      "trials", "Best of so many settings",
      table.html() +
          paragraph("The " + kind.name + " on the " +
                        (study.summary.chosen_on == Split::kTuning ? "tuning" : "held-out") +
                        " sequences to expect from the best of k of the settings that were tried, "
                        "over all choices of k; a setting that diverged is the worst. An arm that "
                        "leads only in the last column leads by trying more.",
                    "note"));
}

}  // namespace draftlab

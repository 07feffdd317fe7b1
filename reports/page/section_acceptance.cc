#include <cmath>

#include "base/number_text.h"
#include "reports/charts/drawing.h"
#include "reports/page/sections.h"
#include "reports/study/acceptance_summary.h"
#include "reports/text/html.h"

namespace draftlab {
namespace {

std::string cell(const PromptMean& mean) {
  std::string text = fixed(mean.value, 3);
  if (!std::isnan(mean.low))
    text += "<small>" + fixed(mean.low, 3) + " to " + fixed(mean.high, 3) + "</small>";
  return text;
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
      table.html() +
          paragraph(
              "At the end of training, the finished seeds of the chosen setting together. Joint is "
              "what this report calls acceptance length; the product of marginals is what it would "
              "be if slots matched independently, and the marginal accuracy is the share of slots "
              "that match, no length. Never compare across columns. Below the joint lengths stand "
              "95 % intervals from resampling prompts: how far they would move with other prompts "
              "and the same drafters.",
              "note"));
}

}  // namespace draftlab

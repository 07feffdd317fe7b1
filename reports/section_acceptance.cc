#include <cmath>

#include "base/number_text.h"
#include "reports/acceptance.h"
#include "reports/answer.h"
#include "reports/drawing.h"
#include "reports/html.h"
#include "reports/sections.h"

namespace draftlab {
namespace {

// Blocks and matches of each prompt, all finished seeds together; empty where a run has none.
struct PromptCounts {
  std::vector<int64_t> blocks, matches;
};

PromptCounts prompt_counts(const Setting& setting) {
  PromptCounts sum;
  for (const Result* run : setting.finished) {
    if (run->held_out.empty()) return {};
    const EvaluationRow& row = run->held_out.back();
    if (sum.blocks.empty()) sum.blocks.resize(row.prompt_blocks.size());
    sum.matches.resize(sum.blocks.size());
    if (row.prompt_blocks.size() != sum.blocks.size() ||
        row.prompt_matches.size() != sum.blocks.size()) {
      return {};
    }
    for (size_t i = 0; i < sum.blocks.size(); ++i) {
      sum.blocks[i] += row.prompt_blocks[i];
      sum.matches[i] += row.prompt_matches[i];
    }
  }
  return sum;
}

std::string cell(const PromptMean& mean) {
  if (mean.prompts == 0) return "–";
  std::string text = fixed(mean.value, 3);
  if (!std::isnan(mean.low))
    text += "<small>" + fixed(mean.low, 3) + " to " + fixed(mean.high, 3) + "</small>";
  return text;
}

// Mean over the finished runs of a function of their last evaluation.
template <typename Get>
std::string mean_cell(const Setting& setting, const Get& get) {
  std::vector<double> values;
  for (const Result* run : setting.finished) {
    values.push_back(run->held_out.empty() ? NAN : get(run->held_out.back()));
  }
  return fixed(estimate(values).mean, 3);
}

}  // namespace

std::string acceptance_section(const Study& study) {
  HtmlTable table({"arm", "joint, pooled", "joint, per response", "product of marginals",
                   "marginal accuracy", "prompts"});
  bool any = false;
  for (const Arm& arm : study.summary.arms) {
    if (arm.chosen() == nullptr) continue;
    any = true;
    const Setting& setting = *arm.chosen();
    const PromptCounts counts = prompt_counts(setting);
    const bool known = !counts.blocks.empty();
    const auto row_value = [](double EvaluationRow::*value) {
      return [value](const EvaluationRow& row) { return row.*value; };
    };
    const PromptMean pooled = pooled_acceptance_length(counts.blocks, counts.matches);
    table.row(
        {look_sample(arm.look) + " " + escape(arm.name),
         known ? cell(pooled) : mean_cell(setting, row_value(&EvaluationRow::acceptance_length)),
         known ? cell(per_prompt_acceptance_length(counts.blocks, counts.matches))
               : mean_cell(setting, row_value(&EvaluationRow::acceptance_length_per_prompt)),
         mean_cell(
             setting,
             [](const EvaluationRow& row) { return product_acceptance_length(row.slot_accuracy); }),
         mean_cell(setting,
                   [](const EvaluationRow& row) { return marginal_accuracy(row.slot_accuracy); }),
         known ? std::to_string(pooled.prompts) : "not recorded"});
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

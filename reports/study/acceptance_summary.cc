#include "reports/study/acceptance_summary.h"

#include <cmath>
#include <vector>

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

// Mean over the finished runs of a function of their last evaluation.
template <typename Get>
double mean_of(const Setting& setting, const Get& get) {
  std::vector<double> values;
  for (const Result* run : setting.finished) {
    values.push_back(run->held_out.empty() ? NAN : get(run->held_out.back()));
  }
  return estimate(values).mean;
}

PromptMean mean_only(const Setting& setting, double EvaluationRow::*value) {
  return {0, mean_of(setting, [&](const EvaluationRow& row) { return row.*value; }), NAN, NAN};
}

}  // namespace

AcceptanceSummary acceptance_of(const Setting& setting) {
  AcceptanceSummary summary;
  const PromptCounts counts = prompt_counts(setting);
  if (counts.blocks.empty()) {
    summary.pooled = mean_only(setting, &EvaluationRow::acceptance_length);
    summary.per_response = mean_only(setting, &EvaluationRow::acceptance_length_per_prompt);
  } else {
    summary.pooled = pooled_acceptance_length(counts.blocks, counts.matches);
    summary.per_response = per_prompt_acceptance_length(counts.blocks, counts.matches);
  }
  summary.product = mean_of(setting, [](const EvaluationRow& row) {
    return product_acceptance_length(row.slot_accuracy);
  });
  summary.marginal = mean_of(
      setting, [](const EvaluationRow& row) { return marginal_accuracy(row.slot_accuracy); });
  return summary;
}

}  // namespace draftlab

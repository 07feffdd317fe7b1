#pragma once

#include "reports/stats/acceptance.h"
#include "reports/study/summary.h"

namespace draftlab {

// Acceptance of a setting's finished runs at their last evaluation, by each definition.
struct AcceptanceSummary {
  // Blocks and matches of each prompt, all runs together. Where some run did not record them, the
  // mean over runs without an interval, and prompts is 0.
  PromptMean pooled, per_response;
  double product, marginal;  // means over runs; NaN if one has no evaluation
};
AcceptanceSummary acceptance_of(const Setting& setting);

}  // namespace draftlab

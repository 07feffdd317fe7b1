#pragma once

#include <string>
#include <vector>

#include "reports/pipeline/pipeline_model.h"

namespace draftlab {

// What the numbers of `cases` (predict_pipeline's, of one specification) say, in sentences: about
// each optimizer in the pipeline as it is, about optimizers against the first one, topologies,
// cached against online. Every word follows from the numbers.
struct PipelineFinding {
  std::string about;  // "AdamW, online 3-1"
  std::string text;
};
std::vector<PipelineFinding> pipeline_findings(const std::vector<PipelineCase>& cases);

// For people: "8 days", "5.2 hours", "40 s", "never" (infinite).
std::string pipeline_time_text(double seconds);
// "5.71 to 7.27 days", "30 hours to 2.1 days"
std::string pipeline_interval_text(const PipelineInterval& time);
// 0.375 -> "37.5%", 0 -> "0%": to a tenth of a per cent.
std::string share_text(double share);
// 0.784 -> "0.78%": to a hundredth.
std::string percent_text(double percent);
// Three significant digits, without needless zeros: "0.24".
std::string short_number(double value);

}  // namespace draftlab

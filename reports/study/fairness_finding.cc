#include "reports/study/fairness_finding.h"

#include <algorithm>

namespace draftlab {

std::string severity_name(Severity severity) {
  return severity == Severity::kRefuse ? "refuses"
         : severity == Severity::kWarn ? "warns"
                                       : "informs";
}

bool refuses(const FairnessFinding& finding, const std::string& a, const std::string& b,
             bool by_time) {
  if (finding.severity != Severity::kRefuse || (finding.by_time_only && !by_time)) return false;
  if (a != b && !finding.groups.empty()) {
    return std::ranges::any_of(finding.groups, [&](const std::vector<std::string>& group) {
      return std::ranges::count(group, a) != std::ranges::count(group, b);
    });
  }
  return finding.arms.empty() || std::ranges::any_of(finding.arms, [&](const std::string& arm) {
           return arm == a || arm == b;
         });
}

}  // namespace draftlab

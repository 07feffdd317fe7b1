#include "reports/checks/checked_study.h"

#include <algorithm>
#include <utility>

#include "reports/checks/fairness.h"

namespace draftlab {
namespace {

std::string ids_of(const std::vector<FairnessFinding>& findings, const auto& wanted) {
  std::string ids;
  for (const FairnessFinding& finding : findings) {
    if (!wanted(finding) || ids.find(finding.id) != std::string::npos) continue;
    ids += (ids.empty() ? "" : ", ") + finding.id;
  }
  return ids;
}

}  // namespace

Study checked(Study study) {
  study.findings = check(study);
  return study;
}

Study checked_study(const RunFolder& folder) { return checked(load_study(folder)); }

Study checked_study(const std::vector<RunFolder>& folders) { return checked(load_study(folders)); }

Study part_of(const Study& study, const std::function<bool(const Result&)>& keep) {
  Study part;
  part.sources = study.sources;
  part.plan = study.plan;
  part.events = study.events;
  for (const Result& run : study.results) {
    if (keep(run)) part.results.push_back(run);
  }
  part.summary = summarize(part.results, part.plan.target);
  return checked(std::move(part));
}

Refusal refusal_between(const Study& study, const std::string& a, const std::string& b) {
  const auto of_pair = [&](const FairnessFinding& finding) {
    return refuses(finding, a, b, false);
  };
  const auto first = std::ranges::find_if(study.findings, of_pair);
  if (first == study.findings.end()) return {};
  return {ids_of(study.findings, of_pair), first->sentence};
}

std::string warnings_between(const Study& study, const std::string& a, const std::string& b) {
  return ids_of(study.findings, [&](const FairnessFinding& finding) {
    const auto concerns = [&](const std::string& arm) {
      return finding.arms.empty() || std::ranges::find(finding.arms, arm) != finding.arms.end();
    };
    return finding.severity == Severity::kWarn && !finding.by_time_only &&
           (concerns(a) || concerns(b));
  });
}

}  // namespace draftlab

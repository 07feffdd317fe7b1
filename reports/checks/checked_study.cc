#include "reports/checks/checked_study.h"

#include <utility>

#include "reports/checks/fairness.h"

namespace draftlab {

Study checked(Study study) {
  study.findings = check(study);
  return study;
}

Study checked_study(const RunFolder& folder) { return checked(load_study(folder)); }

Study checked_study(const std::vector<RunFolder>& folders) { return checked(load_study(folders)); }

}  // namespace draftlab

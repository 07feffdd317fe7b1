#pragma once

#include <vector>

#include "reports/study/study.h"

namespace draftlab {

// A study with the findings of all checks (fairness.h), which is what pages, tables and decisions
// are made of.
Study checked(Study study);

// Loads (study.h) and checks. Throws what load_study throws.
Study checked_study(const RunFolder& folder);
Study checked_study(const std::vector<RunFolder>& folders);

}  // namespace draftlab

#pragma once

#include <functional>
#include <string>
#include <vector>

#include "reports/study/study.h"

namespace draftlab {

// A study with the findings of all checks (fairness.h), which is what pages, tables and decisions
// are made of.
Study checked(Study study);

// Loads (study.h) and checks. Throws what load_study throws.
Study checked_study(const RunFolder& folder);
Study checked_study(const std::vector<RunFolder>& folders);

// The study of some of the results, summarized and checked anew: a check that fires because arms of
// other budgets or other warm-ups stand in the same folder says nothing about two that are alike.
Study part_of(const Study& study, const std::function<bool(const Result&)>& keep);

// Ids of the checks that refuse a winner between these two arms at equal steps, each once, and the
// sentence of the first.
struct Refusal {
  std::string ids, sentence;  // "": none
};
Refusal refusal_between(const Study& study, const std::string& a, const std::string& b);
// "F03, F34": the checks that warn about either; "" for none.
std::string warnings_between(const Study& study, const std::string& a, const std::string& b);

}  // namespace draftlab

#pragma once

#include <string>
#include <vector>

#include "reports/study/fairness_finding.h"
#include "reports/study/study.h"

namespace draftlab {

// One thing that a fair comparison must do (docs/fairness.md).
struct CheckKind {
  std::string id;        // "F01" to "F44"
  Severity severity;     // of its gravest finding
  std::string question;  // what it asks, in one line
  // Pure; findings without an id. Null: `excluded` says why draftlab cannot be at fault here.
  std::vector<FairnessFinding> (*run)(const Study& study);
  std::string excluded;
  std::string fault;  // what it finds, in a few words: "best at the edge of its grid"
};

const std::vector<CheckKind>& check_kinds();  // by id

// All checks, by id; study.findings is not read. A study without a result has findings too, and so
// has one of an older version that did not record what a check needs: it says so.
std::vector<FairnessFinding> check(const Study& study);

// How many there are of each severity: "1 refuses a winner, 2 warn, 3 inform".
std::string counts_text(const std::vector<FairnessFinding>& findings);

}  // namespace draftlab

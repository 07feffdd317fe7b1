#pragma once

#include <string>
#include <vector>

#include "base/json.h"
#include "reports/study/fairness_finding.h"
#include "reports/study/study.h"

namespace draftlab {

// Something that ought to be the same in all runs, and which runs have which value of it.
class Agreement {
 public:
  void add(const std::string& value, const Result& run);
  bool holds() const { return groups_.size() < 2; }
  // "16 in 6 runs such as RUN, 8 in RUN"
  std::string text() const;
  // Arms with a run that has another value than most arms have (the first of equals).
  std::vector<std::string> outliers() const;
  std::vector<std::vector<std::string>> arms_by_value() const;

 private:
  struct Group {
    std::string value;
    std::vector<std::string> arms;
    std::string first_run;
    int64_t runs = 0;
  };
  std::vector<Group> groups_;
};

// For each key whose values in `of` differ between runs one finding: "KEY differs: VALUES; ADVICE".
// A run whose object is empty is left out; one that lacks a key has the value "nothing".
std::vector<FairnessFinding> disagreements(const Study& study, Severity severity,
                                           JsonObject (*of)(const Result& run),
                                           const std::string& advice);

}  // namespace draftlab

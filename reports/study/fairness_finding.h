#pragma once

#include <string>
#include <vector>

namespace draftlab {

enum class Severity { kInform, kWarn, kRefuse };
std::string severity_name(Severity severity);  // "informs", "warns", "refuses"

// What one check found in a study.
struct FairnessFinding {
  Severity severity = Severity::kInform;
  std::string sentence;           // names runs and numbers, and says what to do
  std::vector<std::string> arms;  // whose comparisons it concerns; empty: all
  bool by_time_only = false;      // comparisons at equal steps are untouched
  std::string id = {};            // "F07"
  // Where arms differ in something: those that have the same. Two of one group may be compared.
  std::vector<std::vector<std::string>> groups = {};
};

// True if no winner may be named between arms `a` and `b`; `by_time`: at equal seconds. With `a`
// for both: if the arm is out of the comparison of all.
bool refuses(const FairnessFinding& finding, const std::string& a, const std::string& b,
             bool by_time);

}  // namespace draftlab

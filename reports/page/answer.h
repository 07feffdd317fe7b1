#pragma once

#include <string>
#include <vector>

#include "reports/study/study.h"

namespace draftlab {

struct Statement {
  std::string topic;  // "Acceptance length at equal steps"
  std::string sentence;
};

// The answer, one sentence per measure and view: which arm is ahead, by how much over the same
// seeds, and whether that can be claimed (comparison.h). Arms that a check refuses are left out;
// where fewer than two are left there is no winner, and the sentence says why. Where arms differ in
// what they share with some only (two lengths of training), those that share it are compared.
std::vector<Statement> answer(const Study& study);

// "+0.118", "−0.020" with a real minus sign.
std::string signed_text(double value, int decimals);
std::string interval_text(const Estimate& estimate, int decimals);  // "0.082 to 0.154"
// "A", "A and B", "A, B and C", of more than eight "A, B, C, D, E, F and 3 more"; and "A; B; C".
std::string joined(std::vector<std::string> words);
std::string listed(const std::vector<std::string>& parts);
// "1 seed", "3 seeds"
std::string counted(int64_t n, const std::string& noun);
std::string capitalized(std::string text);
std::string seconds_text(double seconds);
// "acceptance length of at least 1.3"; "none"
std::string target_text(const TargetLevel& target);

}  // namespace draftlab

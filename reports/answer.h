#pragma once

#include <string>
#include <vector>

#include "reports/study.h"

namespace draftlab {

struct Statement {
  std::string topic;  // "Acceptance length at equal steps"
  std::string sentence;
};

// The answer, one sentence per measure and view: which arm is ahead, by how much over the same
// seeds, and whether that can be claimed. A claim needs three seeds and an interval without zero.
std::vector<Statement> answer(const Study& study);

// Arm `a` against arm `b`, by the paired differences of their chosen settings: "0.118 above b (95 %
// interval 0.082 to 0.154 over 3 paired seeds)".
std::string comparison(const Arm& a, const Arm& b, Measure measure, SampleOf of);
// True if a difference can be claimed.
bool can_claim(const Estimate& difference);

// "+0.118", "−0.020" with a real minus sign.
std::string signed_text(double value, int decimals);
std::string interval_text(const Estimate& estimate, int decimals);  // "0.082 to 0.154"
// "1 seed", "3 seeds"
std::string counted(int64_t n, const std::string& noun);
std::string capitalized(std::string text);
std::string seconds_text(double seconds);
// "acceptance length of at least 1.3"
std::string target_text(const TargetLevel& target);

}  // namespace draftlab

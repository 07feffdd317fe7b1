#pragma once

#include <array>
#include <string>

#include "record/metrics.h"
#include "record/plan.h"

namespace draftlab {

// What is compared. All are of one evaluation of one split.
enum class Measure { kLoss, kAcceptanceLength, kAcceptanceLengthArgmax };
inline constexpr size_t kMeasures = 3;

struct MeasureKind {
  Measure measure;
  std::string key;   // as in TargetLevel::metric
  std::string name;  // as people say it
  bool lower_is_better;
  int decimals;
};

const std::array<MeasureKind, kMeasures>& measure_kinds();
const MeasureKind& kind_of(Measure measure);
double value_of(const EvaluationRow& row, Measure measure);
// True if `a` beats `b`. A NaN beats nothing and is beaten by every number.
bool better(Measure measure, double a, double b);

// "acceptance length of at least 1.3"; "none"
std::string target_text(const TargetLevel& target);

}  // namespace draftlab

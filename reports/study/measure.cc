#include "reports/study/measure.h"

#include <cmath>

#include "base/number_text.h"

namespace draftlab {

const std::array<MeasureKind, kMeasures>& measure_kinds() {
  static const std::array<MeasureKind, kMeasures> kinds = {{
      {Measure::kLoss, "val_loss", "loss", true, 3},
      {Measure::kAcceptanceLength, "acceptance_length", "acceptance length", false, 3},
      {Measure::kAcceptanceLengthArgmax, "acceptance_length_argmax",
       "acceptance length against the target's greedy tokens", false, 3},
  }};
  return kinds;
}

const MeasureKind& kind_of(Measure measure) {
  return measure_kinds()[static_cast<size_t>(measure)];
}

double value_of(const EvaluationRow& row, Measure measure) {
  switch (measure) {
    case Measure::kLoss:
      return row.loss;
    case Measure::kAcceptanceLength:
      return row.acceptance_length;
    case Measure::kAcceptanceLengthArgmax:
      return row.acceptance_length_argmax;
  }
  return 0;
}

bool better(Measure measure, double a, double b) {
  if (std::isnan(a)) return false;
  if (std::isnan(b)) return true;
  return kind_of(measure).lower_is_better ? a < b : a > b;
}

std::string target_text(const TargetLevel& target) {
  if (target.metric.empty()) return "none";
  for (const MeasureKind& kind : measure_kinds()) {
    if (kind.key != target.metric) continue;
    return kind.name + (kind.lower_is_better ? " of at most " : " of at least ") +
           number_text(target.value);
  }
  return target.metric + " " + number_text(target.value);
}

}  // namespace draftlab

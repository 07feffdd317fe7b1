#pragma once

#include <optional>
#include <string>
#include <vector>

#include "reports/decision/decision_context.h"
#include "reports/study/study.h"
#include "reports/switches/switch_study.h"

namespace draftlab {

// One measured switch from the current optimizer to the candidate.
struct MeasuredSwitch {
  const Study* study = nullptr;
  SwitchStudy of;
  std::vector<size_t> variants;  // those that go to the candidate; not empty

  // The variant with the best final acceptance length, the earlier one where two tie. REQUIRES: the
  // study is not refused.
  size_t best_variant() const;
};

// In the same phase of the schedule as the run, if there is one, then nearest by the share of
// training; of `folders` alone, where some are named.
std::optional<MeasuredSwitch> nearest_switch(const std::vector<Study>& studies,
                                             const DecisionContext& context,
                                             const std::vector<std::string>& folders);
// What a pillar says where there is none.
std::string no_switch_text(const DecisionContext& context);

}  // namespace draftlab

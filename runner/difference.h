#pragma once

#include <string>
#include <vector>

#include "base/json.h"
#include "record/plan.h"

namespace draftlab {

// One place where two JSON values differ.
struct Difference {
  std::string path;       // "arms[1].optimizer.learning_rate"
  std::string old_value;  // canonical JSON; "(absent)" where there is none
  std::string new_value;
};

// In the order of the old value's keys, new keys last; numbers are equal by value (3 and 3.0).
std::vector<Difference> find_differences(const Json& old_value, const Json& new_value);

// Why a frozen plan is not the one that a sweep file gives now; empty if both train and show the
// same. Where the sweep files are equal, the resolved values that differ (another store, other
// defaults).
std::vector<Difference> find_differences(const PlanRecord& frozen, const PlanRecord& now);

// "  arms[0].name: \"a\" -> \"b\"", one line each, at most `most` and a count of the rest.
std::string text_of(const std::vector<Difference>& differences, size_t most = 20);

}  // namespace draftlab

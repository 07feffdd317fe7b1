#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "base/json.h"

namespace draftlab {

// A comparison at equal seconds: each arm trains for as many steps as fit the budget, and its
// schedule ends there. Until the arms' steps have been timed alone it is not resolved; `run` times
// them and freezes the numbers in the plan's sweep, so that nothing later depends on a clock.
struct EqualSeconds {
  double budget = 0;                           // seconds of training; 0: the first arm's steps
  std::map<std::string, double> step_seconds;  // of each arm, alone; empty: not resolved

  bool is_resolved() const { return !step_seconds.empty(); }
  // How many steps of an arm fit the budget. Throws Error at `where` for an arm without a time or
  // for which not one step fits. REQUIRES: is_resolved().
  int64_t steps(const std::string& arm, const std::string& where) const;
};

// "seconds", or {"seconds": NUMBER, "step_seconds": {ARM: NUMBER, ...}}, both optional. Throws
// Error with the place of the key.
EqualSeconds parse_equal_seconds(const Json& value, const std::string& where);
JsonObject to_json(const EqualSeconds& compare);

}  // namespace draftlab

#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/json.h"
#include "record/plan.h"

namespace draftlab {

// Successive halving (Jamieson and Talwalkar 2016): trials are judged at rungs on the way to their
// end, and the worse points of an arm are not trained further. A trial that goes on is cut at the
// rung and continued, so that its weights are those of a trial that nobody judged.
struct Halving {
  std::vector<double> at;  // rungs, as shares of an arm's training; rising, within (0, 1)
  double keep = 0.5;       // share of an arm's points that goes on from a rung; within (0, 1)

  // The step at which rung `rung` judges a training of so many steps; its end behind the last rung.
  int64_t step(size_t rung, int64_t steps) const;
  // How many of so many points go on: the share, rounded up.
  int64_t kept(int64_t points) const;
};

// {"at": [0.25, 0.5], "keep": 0.5}. Throws Error with the place of the key.
Halving read_halving(const Json& value, const std::string& where);

// The `count` best of the trials that have a number, best first, by the rule of record/choice.h.
std::vector<std::string> best_points(std::vector<TrialScore> trials, const std::string& metric,
                                     int64_t count);

}  // namespace draftlab

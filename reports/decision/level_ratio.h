#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "reports/decision/pillar.h"

namespace draftlab {

// How many steps one set of runs needs over another to come equally far, read off the curves of
// held-out evaluations. Curves in mid-schedule are not ends: an annealed run is better at the same
// step, so the candidate, which arrives earlier, is judged a little too hard.
struct LevelRatio {
  double level = 0;
  // Of runs with equal seeds, candidate over current, as geometric mean with its t interval; a NaN
  // where some run does not get there, or is there at the first step already.
  PillarNumber steps;
};

// At five levels from `target` up to the highest that every run reaches, which comes first; one
// level with a NaN where some run does not reach the target. Steps are counted from `from`.
std::vector<LevelRatio> level_ratios(const std::vector<const Result*>& candidate,
                                     const std::vector<const Result*>& current,
                                     const TargetLevel& target, int64_t from = 0);

// Ratios of one number of runs with equal seeds, candidate over current, as geometric mean; no
// value where there is no pair, or one of the numbers is infinite.
PillarNumber paired_ratio(const std::vector<const Result*>& candidate,
                          const std::vector<const Result*>& current, const std::string& what,
                          const std::function<double(const Result&)>& of);

}  // namespace draftlab

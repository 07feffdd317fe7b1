#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "reports/study/summary.h"

namespace draftlab {

// One way to orthogonalize, at every learning rate that was tried with it.
struct StepsPoint {
  std::string orthogonalizer;
  int64_t steps = 0;                     // 0: exact
  std::string label;                     // "3 steps", "exact"
  std::vector<const Setting*> settings;  // by rising rate
  const Setting* best = nullptr;         // chosen as in an arm; null: no finished run
  bool at_edge = false;  // the best rate is the smallest or the largest that was tried
};

// Settings, of one arm or of several, that differ in nothing but the orthogonalizer, its steps and
// the learning rate.
struct StepsStudy {
  std::vector<std::string> arms;
  std::vector<StepsPoint> points;  // by orthogonalizer, then steps; exact last
};

// Those studies in which one orthogonalizer ran with different numbers of steps, each at several
// rates.
std::vector<StepsStudy> steps_studies(const Summary& summary);

// The rate that is best for each seed (seed_text) by itself.
std::map<std::string, double> best_rates(const StepsPoint& point, Measure chosen_by);

// What came out, from the fewest steps of an orthogonalizer to the exact polar factor or else its
// most steps: both best rates with the number of seeds, and whether each seed alone agrees. Claims
// a direction from two seeds on.
std::string finding(const StepsStudy& study, const Summary& summary);

}  // namespace draftlab

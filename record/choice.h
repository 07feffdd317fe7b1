#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

namespace draftlab {

// Which setting of an arm is best: one rule for the runner, which trains with it, and for reports
// and checks, which name it.

// One setting, and what its runs came to on the split that decides.
struct Candidate {
  int64_t place = 0;     // among the settings as they were planned
  int64_t diverged = 0;  // runs
  // Means over the finished runs at the last step (mean_of). NaN: no run finished, or one of them
  // has no number.
  double value = std::numeric_limits<double>::quiet_NaN();  // of the metric that decides
  double loss = std::numeric_limits<double>::quiet_NaN();   // on the same split
};

struct Choice {
  size_t best = 0;  // index into the candidates
  // Those that no number of the metric tells from the best: as many diverged runs, the same value.
  // By place; the best one among them. More than one: a tie.
  std::vector<size_t> tied;
  bool by_loss = false;  // a tie that the loss alone broke; else the earliest place did

  bool is_tie() const { return tied.size() > 1; }
};

// The candidate with the fewest diverged runs; among those the one with the best value; where that
// ties, the one with the lowest loss; where that ties too, the one with the lowest place. A value
// of NaN is never best, a loss of NaN is above every other. Nothing if no candidate has a value.
std::optional<Choice> choose(const std::vector<Candidate>& candidates, bool lower_is_better);

// The mean, with the same bits in whatever order the values are given, so that equal settings tie;
// NaN for no values or where one is NaN.
double mean_of(std::vector<double> values);

// The metric that settings are chosen by where the sweep has no target.
inline constexpr char kUsualMetric[] = "acceptance_length";
// True of a loss, the lowest of which is best; false of an acceptance length.
bool lower_is_better(const std::string& metric);

}  // namespace draftlab

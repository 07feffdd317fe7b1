#include "record/choice.h"

#include <algorithm>
#include <cmath>

namespace draftlab {
namespace {

bool ties(const Candidate& a, const Candidate& b) {
  return a.diverged == b.diverged && a.value == b.value;
}

// NaN comes last.
bool lower(double a, double b) { return a < b || (!std::isnan(a) && std::isnan(b)); }

bool wins(const Candidate& a, const Candidate& b, bool lower_is_better) {
  if (a.diverged != b.diverged) return a.diverged < b.diverged;
  if (a.value != b.value) return (a.value < b.value) == lower_is_better;
  if (lower(a.loss, b.loss) || lower(b.loss, a.loss)) return lower(a.loss, b.loss);
  return a.place < b.place;
}

}  // namespace

std::optional<Choice> choose(const std::vector<Candidate>& candidates, bool lower_is_better) {
  std::optional<Choice> choice;
  for (size_t i = 0; i < candidates.size(); ++i) {
    if (std::isnan(candidates[i].value)) continue;
    if (!choice) choice.emplace().best = i;
    if (wins(candidates[i], candidates[choice->best], lower_is_better)) choice->best = i;
  }
  if (!choice) return choice;
  const Candidate& best = candidates[choice->best];
  for (size_t i = 0; i < candidates.size(); ++i) {
    if (ties(candidates[i], best)) choice->tied.push_back(i);
  }
  std::ranges::stable_sort(choice->tied, {}, [&](size_t i) { return candidates[i].place; });
  choice->by_loss = choice->is_tie() && std::ranges::all_of(choice->tied, [&](size_t i) {
                      return i == choice->best || lower(best.loss, candidates[i].loss);
                    });
  return choice;
}

double mean_of(std::vector<double> values) {
  double sum = 0;
  for (const double value : values) sum += value;
  if (values.empty() || std::isnan(sum)) return std::numeric_limits<double>::quiet_NaN();
  std::ranges::sort(values);
  sum = 0;
  for (const double value : values) sum += value;
  return sum / static_cast<double>(values.size());
}

bool lower_is_better(const std::string& metric) { return metric == "val_loss"; }

}  // namespace draftlab

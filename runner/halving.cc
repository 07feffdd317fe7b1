#include "runner/halving.h"

#include <cmath>

#include "base/error.h"

namespace draftlab {

int64_t Halving::step(size_t rung, int64_t steps) const {
  if (rung >= at.size()) return steps;
  return static_cast<int64_t>(std::floor(at[rung] * static_cast<double>(steps)));
}

int64_t Halving::kept(int64_t points) const {
  return static_cast<int64_t>(std::ceil(keep * static_cast<double>(points)));
}

Halving read_halving(const Json& value, const std::string& where) {
  Fields fields(value, where);
  Halving halving;
  for (const Json& share : fields.array("at")) {
    const std::string here = fields.where("at") + "[" + std::to_string(halving.at.size()) + "]";
    const double at = json_number(share, here);
    if (!(at > 0 && at < 1))
      throw Error(here, "must be a share of the training, between 0 and 1 and neither of them");
    if (!halving.at.empty() && at <= halving.at.back())
      throw Error(here, "must lie behind the rung before it");
    halving.at.push_back(at);
  }
  if (halving.at.empty())
    throw Error(fields.where("at"), "is an empty list; give at least one rung");
  halving.keep = fields.number("keep", halving.keep);
  if (!(halving.keep > 0 && halving.keep < 1))
    throw Error(fields.where("keep"), "must be a share of the points, between 0 and 1 and neither");
  fields.finish();
  return halving;
}

std::vector<std::string> best_points(std::vector<TrialScore> trials, const std::string& metric,
                                     int64_t count) {
  std::vector<std::string> points;
  while (static_cast<int64_t>(points.size()) < count) {
    const auto choice = choice_of(trials, metric);
    if (!choice) break;
    points.push_back(trials[choice->best].point);
    trials.erase(trials.begin() + static_cast<std::ptrdiff_t>(choice->best));
  }
  return points;
}

}  // namespace draftlab

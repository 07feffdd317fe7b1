#include "runner/equal_seconds.h"

#include <cmath>

#include "base/error.h"
#include "base/number_text.h"

namespace draftlab {

int64_t EqualSeconds::steps(const std::string& arm, const std::string& where) const {
  const auto found = step_seconds.find(arm);
  if (found == step_seconds.end())
    throw Error(where, "has no seconds of a step for '" + arm + "'; give them for every arm");
  constexpr double kHair = 1e-9;  // 40 x t / t is 40
  constexpr double kMostSteps = 1e12;
  const double fit = std::floor(budget / found->second * (1 + kHair));
  if (fit > kMostSteps) {
    throw Error(where, "a budget of " + number_text(budget) + " s holds " + significant(fit, 2) +
                           " steps of '" + arm + "', which nobody can train; shorten it");
  }
  const auto steps = static_cast<int64_t>(fit);
  if (steps >= 1) return steps;
  throw Error(where, "a budget of " + number_text(budget) + " s holds not one step of '" + arm +
                         "', which takes " + number_text(found->second) + " s");
}

EqualSeconds parse_equal_seconds(const Json& value, const std::string& where) {
  EqualSeconds compare;
  if (value.is_string()) {
    require_one_of(std::string(value.get_string()), {"seconds"}, where);
    return compare;
  }
  Fields fields(value, where);
  const auto positive = [](double seconds, const std::string& place) {
    if (!(seconds > 0) || !std::isfinite(seconds)) throw Error(place, "must be seconds, above 0");
    return seconds;
  };
  if (fields.has("seconds"))
    compare.budget = positive(fields.number("seconds"), fields.where("seconds"));
  if (fields.has("step_seconds")) {
    const JsonObject* times = fields.any("step_seconds").if_object();
    if (times == nullptr || times->empty())
      throw Error(fields.where("step_seconds"), "must be an object with the seconds of each arm");
    for (const auto& arm : *times) {
      const std::string place = fields.where("step_seconds") + "." + std::string(arm.key());
      compare.step_seconds[arm.key()] = positive(json_number(arm.value(), place), place);
    }
    if (compare.budget == 0)
      throw Error(fields.where("step_seconds"), "needs the budget too: \"seconds\"");
  }
  fields.finish();
  return compare;
}

JsonObject to_json(const EqualSeconds& compare) {
  JsonObject times;
  for (const auto& [arm, seconds] : compare.step_seconds) times[arm] = seconds;
  return {{"seconds", compare.budget}, {"step_seconds", std::move(times)}};
}

}  // namespace draftlab

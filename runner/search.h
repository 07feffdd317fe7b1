#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/json.h"

namespace draftlab {

// A tuning phase that searches: options given as {"log_uniform": [a, b]}, {"uniform": [a, b]} or
// {"choice": [...]} in place of a value or a list.

// Whether an optimizer's JSON has such an option.
bool has_search(const Json& optimizer);

// `trials` optimizers with a value for each: the points of a Sobol sequence (Boost.Random; Bratley
// and Fox 1988, directions of Joe and Kuo 2008), moved around the unit cube by a random shift of
// `seed` (Cranley and Patterson 1976). The first dimension is the learning rate, the others are the
// options by name, so that arms with the same options and ranges try the same points. Numbers are
// rounded to 3 significant digits, which makes them the same on every machine. Throws Error naming
// the key for a range that is none, a list beside a range, or fewer different points than trials.
std::vector<Json> search_points(const Json& optimizer, int64_t trials, int64_t seed,
                                const std::string& where);

}  // namespace draftlab

#pragma once

#include <string>
#include <vector>

#include "base/json.h"

namespace draftlab {

// An optimizer with every option resolved. Canonical JSON of it is part of a segment's id.
struct OptimizerConfig {
  std::string kind;
  JsonObject options;  // every option of the kind, nested as in the sweep file; no lists left

  // The value at a key path such as "adamw.beta1", or null where this configuration has no such
  // option (another kind's, or one whose `when` does not hold).
  const Json* find(const std::string& key) const;
  bool has(const std::string& key) const { return find(key) != nullptr; }
  // REQUIRES: has(key).
  double number(const std::string& key) const;
  int64_t integer(const std::string& key) const;
  bool boolean(const std::string& key) const;
  std::string text(const std::string& key) const;
  double learning_rate() const { return number("learning_rate"); }
};

// Reads {"kind": ..., options...}; fills in defaults; unknown keys, wrong types and ranges are
// errors.
OptimizerConfig parse_optimizer_config(const Json& value, const std::string& where);
JsonObject to_json(const OptimizerConfig& config);  // {"kind":..., ...all options}

// The same where any option may be a list: the grid of all combinations, in the order of the lists,
// the last list fastest. Empty lists are errors; equal points ("1e-3, 0.001") collapse, each with
// one line in `notices`.
std::vector<OptimizerConfig> parse_optimizer_grid(const Json& value, const std::string& where,
                                                  std::vector<std::string>& notices);

// The options that tell the points of a grid apart, in the order of their kind's options. An option
// that follows from those before it (the kind first), such as a convention's default, is left out.
std::vector<std::string> distinguishing_options(const std::vector<OptimizerConfig>& points);

}  // namespace draftlab

#pragma once

#include <string>
#include <utility>
#include <vector>

#include "base/json.h"

namespace draftlab {

// One option of an optimizer. `key` is a path inside the optimizer's JSON object: "momentum",
// "adamw.beta1" (a nested object "adamw").
struct OptimizerOption {
  std::string key;
  Json fallback;                     // the default; null: required
  double low = 0, high = 0;          // numbers must lie in [low, high]; both 0: no range
  std::vector<std::string> choices;  // strings must be one of these
  std::string meaning;               // one sentence for --help and the report
  // It exists only where the earlier option `when_key` has one of these values; "": always.
  std::string when_key = {};
  std::vector<std::string> when = {};
};

// Other defaults, where the option `key` has `value`: a convention such as "moonlight". A later
// preset overrides an earlier one.
struct OptimizerPreset {
  std::string key, value;
  std::vector<std::pair<std::string, Json>> defaults;
  std::string summary = {};  // one sentence
};

// What planning and reporting must know of an optimizer; its mathematics is in `optim`.
struct OptimizerKind {
  std::string name;         // "adamw", "muon", "normuon", ...
  std::string summary;      // one sentence
  std::string source;       // paper or project the defaults come from
  std::string matrix_rule;  // the update rule that 2-D weights get by default, e.g. "muon"
  bool takes_vectors;       // its rule updates all tensors; else vectors get AdamW
  std::string formula;      // lines of plain text; W, G, eta, lambda as in docs/optimizers.md
  std::vector<OptimizerOption> options;
  std::vector<OptimizerPreset> presets;
};

const std::vector<OptimizerKind>& optimizer_kinds();
const OptimizerKind& optimizer_kind(const std::string& name,
                                    const std::string& where);  // throws Error

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
  // Where the options of its AdamW are: "" for the kind adamw, "adamw." where that is the partner.
  std::string adamw_prefix() const { return kind == "adamw" ? "" : "adamw."; }
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

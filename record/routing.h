#pragma once

#include <string>
#include <vector>

#include "base/json.h"
#include "record/drafter_config.h"
#include "record/optimizer_config.h"

namespace draftlab {

// One ordered rule: the first that matches a tensor decides its update rule.
struct RoutingRule {
  std::string pattern = "*";  // glob over the name as in fnmatch(3): * any run of characters, ? one
  int64_t dimensions = 0;     // 0: any
  int64_t smallest_side = 0;  // at least this; 0: any
  std::string rule;           // "matrix" (the kind's own rule), "adamw", "frozen"
};

// Matrices (2-D, smallest side above 1) to the kind's matrix rule, all else to AdamW.
std::vector<RoutingRule> default_routing();
// Reads a list such as [{"pattern": "fc.weight", "rule": "adamw"}] and puts the default rules after
// it.
std::vector<RoutingRule> parse_routing(const Json& value, const std::string& where);

// One row of the visible table: which update rule a tensor gets, with its effective constants.
struct Route {
  std::string name;
  std::vector<int64_t> shape;
  std::string rule;          // "adamw", "muon", "normuon", "turbo_muon", "frozen"
  double learning_rate = 0;  // base rate times the shape's scale: what the schedule multiplies
  // Decoupled, and by the rate without the scale: w *= 1 - base rate * schedule * weight_decay.
  double weight_decay = 0;
};

// The table for a drafter, in the order of `parameters`. AdamW inside of another kind takes the
// kind's nested "adamw" options. Throws Error for a tensor that no rule matches, a vector sent to
// "matrix", and a rule that decides no tensor (but "*").
std::vector<Route> route(const std::vector<ParameterShape>& parameters,
                         const OptimizerConfig& optimizer, const std::vector<RoutingRule>& rules,
                         const std::string& where);
JsonArray to_json(const std::vector<Route>& table);
std::vector<Route> routes_from_json(const Json& value, const std::string& where);

// sqrt(max(1, rows/cols)) "original"; 0.2 sqrt(max(rows, cols)) "match_rms"; sqrt(rows/cols)
// "spectral": the factor on the learning rate of an orthogonalized update (spec:
// docs/optimizers.md).
double muon_scale(const std::string& mode, int64_t rows, int64_t cols);

}  // namespace draftlab

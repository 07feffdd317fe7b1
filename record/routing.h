#pragma once

#include <string>
#include <vector>

#include "base/json.h"
#include "record/drafter_config.h"
#include "record/optimizer_config.h"

namespace draftlab {

struct OptimizerKind;

// One ordered rule: the first that matches a tensor decides its update rule.
struct RoutingRule {
  std::string pattern = "*";  // glob over the name as in fnmatch(3): * any run of characters, ? one
  int64_t dimensions = 0;     // 0: any
  int64_t smallest_side = 0;  // at least this; 0: any
  std::string rule;           // "matrix" (the kind's own rule), "adamw", "frozen"
  // Rows of the blocks that a fused weight is updated in, each as a matrix of its own; they sum to
  // the rows of every tensor that the rule decides. Empty: one block.
  std::vector<int64_t> split = {};
  bool split_heads = false;  // a block for each attention head, for the weights that have heads
};

// What decides where no rule of the user does: the kind's own rules, if it has some. Else matrices
// (2-D, smallest side above 1) go to it and the rest to AdamW, or all to it if it takes vectors.
std::vector<RoutingRule> default_routing(const OptimizerKind& kind);
// Reads a list such as [{"pattern": "fc.weight", "rule": "adamw"},
// {"pattern": "*.qkv.weight", "rule": "matrix", "split": [576, 192, 192]},
// {"pattern": "*.q_proj.weight", "rule": "matrix", "split": "heads"}].
std::vector<RoutingRule> parse_routing(const Json& value, const std::string& where);

// One row of the visible table: which update rule a tensor gets, with its effective constants.
struct Route {
  std::string name;
  std::vector<int64_t> shape;
  std::string rule;            // the kind's own, "adamw" beside it, or "frozen"
  std::vector<int64_t> split;  // rows of each block; one block: all rows
  // For each block the base rate times its shape's scale: what the schedule multiplies.
  std::vector<double> learning_rates;
  // Decoupled, and by the rate without the scale: w *= 1 - base rate * schedule * weight_decay.
  double weight_decay = 0;
};

// The table for a drafter, in the order of `parameters`: `rules`, then default_routing. AdamW
// inside of another kind takes the kind's nested "adamw" options. Throws Error for a vector sent to
// a rule of matrices, a split that does not fit, and a rule that decides no tensor (but "*").
std::vector<Route> route(const std::vector<ParameterShape>& parameters,
                         const OptimizerConfig& optimizer, const std::vector<RoutingRule>& rules,
                         const std::string& where);
JsonArray to_json(const std::vector<Route>& table);
// The blocks as people read them: "-" for one, "3 x 64", "576+192+192"; and the rates, one number
// where they are equal.
std::string split_text(const Route& route);
std::string rates_text(const Route& route);
std::vector<Route> routes_from_json(const Json& value, const std::string& where);

// The factor on the learning rate of an orthogonalized update (docs/optimizers.md):
// sqrt(max(1, rows/cols)) "original"; 0.2 sqrt(max(rows, cols)) "match_rms"; sqrt(rows/cols)
// "spectral"; 0.2 sqrt(rows cols) "rms", for an update of norm 1.
double muon_scale(const std::string& mode, int64_t rows, int64_t cols);

}  // namespace draftlab

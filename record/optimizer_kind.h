#pragma once

#include <string>
#include <utility>
#include <vector>

#include "base/json.h"
#include "record/buffer.h"
#include "record/optimizer_config.h"
#include "record/routing.h"

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
  // False of what only prepares a later switch: two optimizers that differ in it train alike.
  bool reaches_weights = true;
  // True of one that came after segments had ids: where it has its default it is left out of a
  // configuration, so that those ids stay.
  bool absent_by_default = false;
};

// Other defaults, where the option `key` has `value`: a convention such as "moonlight". A later
// preset overrides an earlier one.
struct OptimizerPreset {
  std::string key, value;
  std::vector<std::pair<std::string, Json>> defaults;
  std::string summary = {};  // one sentence
};

// What an update costs besides passes over the weights, as its source states it.
struct UpdateWork {
  int64_t products = 0;  // of matrices, in every step
  double flop = 0;       // 2 a multiply-add; decompositions are spread over the steps between them
};

// What planning and reporting must know of an optimizer, which is also its update rule: one file of
// record/optimizers each. Its step is the file of that name in optim/rules (docs/new_optimizer.md).
struct OptimizerKind {
  std::string name;     // "adamw", "muon", "normuon", ...
  std::string title;    // as people write it: "AdamW", "Muon"; "": the name
  std::string summary;  // one sentence
  std::string source;   // paper or project the defaults come from
  std::string formula;  // lines of plain text; W, G, eta, lambda as in docs/optimizers.md
  std::vector<OptimizerOption> options;
  // What the rule keeps for a tensor, from its own options.
  std::vector<Buffer> (*buffers)(const OptimizerConfig& options, const Route& route) = nullptr;
  std::vector<OptimizerPreset> presets = {};
  // Its rule updates all tensors; else vectors get AdamW with the options "adamw.*".
  bool takes_vectors = false;
  // Gradients with NaN or infinity are refused; else the rule spreads them to the weights, where
  // they are seen.
  bool needs_finite_gradients = true;
  // Null: no more than passes over the weights.
  UpdateWork (*work)(const OptimizerConfig& options, const Route& route) = nullptr;
  // The option that says after how many steps the work of a step comes round again; "": every step
  // is like the others.
  std::string period = {};
  // Where no rule of the user decides a tensor; empty: by takes_vectors.
  std::vector<RoutingRule> routing = {};
};

// In the order in which they are listed (record/optimizers/table.cc).
const std::vector<OptimizerKind>& optimizer_kinds();
// Throws Error for a name that is not in the table.
const OptimizerKind& optimizer_kind(const std::string& name, const std::string& where);

// As people write the name of a kind or of its rule; "frozen", and what is no kind, stay as they
// are.
std::string kind_title(const std::string& name);

// The kind whose rule a tensor gets: the optimizer's own, or "adamw" beside it. Throws Error naming
// the tensor for any other.
const OptimizerKind& rule_of(const OptimizerConfig& optimizer, const Route& route);
// The options that this rule reads: all of them, or, for the AdamW beside another kind, those
// nested in "adamw" as a configuration of their own.
OptimizerConfig rule_options(const OptimizerConfig& optimizer, const Route& route);

}  // namespace draftlab

#include "optim/orthogonalization.h"

#include "base/error.h"
#include "record/orthogonalizer.h"

namespace draftlab {
namespace {

Normalizer normalizer(const std::string& name) {
  if (name == "frobenius") return Normalizer::kFrobenius;
  if (name == "schatten4") return Normalizer::kSchatten4;
  if (name == "aol") return Normalizer::kAol;
  throw Error("normalizer", "'" + name + "' is not known; choose frobenius, schatten4 or aol");
}

Floor floor_of(const OptimizerConfig& config, const OrthogonalizerKind& kind) {
  if (config.text("epsilon") == "scale_free") return Floor::kNone;
  const std::string convention = config.text("convention");
  const bool torch = convention == "torch" || convention == "speculators";
  return kind.at_least || torch ? Floor::kAtLeast : Floor::kPlus;
}

}  // namespace

Orthogonalization orthogonalization(const OptimizerConfig& config) {
  const OrthogonalizerKind& kind =
      orthogonalizer_kind(config.text("orthogonalizer"), "orthogonalizer");
  Orthogonalization how;
  if (kind.table.empty()) return how;  // exact
  how.steps = config.integer("steps");
  const double safety = config.has("safety") ? config.number("safety") : 0;
  how.quintics = kind.table == "generated"
                     ? polar_express_quintics(config.number("lower_bound"), how.steps, safety,
                                              config.number("cushion"))
                     : quintic_table(kind.table);
  how.normalizer = normalizer(kind.normalizer);
  how.safety = 1 + safety;
  how.floor = floor_of(config, kind);
  how.epsilon = kind.epsilon;
  if (config.has("restart")) {
    how.form = Form::kGram;
    if (config.integer("restart") > 0) how.restarts = {config.integer("restart")};
  }
  return how;
}

}  // namespace draftlab

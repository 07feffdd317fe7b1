#include "record/hyperball.h"

#include <algorithm>

#include "base/error.h"
#include "base/number_text.h"

namespace draftlab {

OptimizerKind with_hyperball(OptimizerKind kind) {
  OptimizerOption option{
      "hyperball",
      false,
      0,
      0,
      {},
      "keep the norm that each matrix begins with, without decay; eta is then the "
      "share of it that a step moves (arXiv 2606.16899)"};
  option.absent_by_default = true;
  for (OptimizerOption& other : kind.options) {
    if (other.key != "scale" && other.key != "decay") continue;
    other.when_key = option.key;
    other.when = {"false"};
  }
  const auto rate =
      std::find_if(kind.options.begin(), kind.options.end(),
                   [](const OptimizerOption& each) { return each.key == "learning_rate"; });
  kind.options.insert(rate + 1, option);
  kind.presets.push_back({option.key, "true", {{"weight_decay", 0.0}}});
  return kind;
}

void require_no_decay(const OptimizerConfig& optimizer, const std::string& where) {
  if (!optimizer.has("hyperball") || optimizer.number("weight_decay") == 0) return;
  throw Error(where, "is " + number_text(optimizer.number("weight_decay")) +
                         " beside \"hyperball\": true, which keeps the norm of a matrix whatever "
                         "decays; leave weight_decay out, or give 0");
}

bool on_hyperball(const OptimizerConfig& optimizer, const Route& route) {
  return optimizer.has("hyperball") && route.rule == optimizer.kind && route.shape.size() == 2;
}

Buffer radius_buffer(const Route& route) {
  return {.name = "radius",
          .meaning = Buffer::Meaning::kRadius,
          .shape = {static_cast<int64_t>(route.split.size())},
          .text = "norm that stays"};
}

}  // namespace draftlab

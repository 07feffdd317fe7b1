#include "record/optimizer_kind.h"

#include <algorithm>

#include "base/error.h"

namespace draftlab {

const OptimizerKind& optimizer_kind(const std::string& name, const std::string& where) {
  const auto& kinds = optimizer_kinds();
  std::vector<std::string> names;
  for (const OptimizerKind& kind : kinds) names.push_back(kind.name);
  require_one_of(name, names, where);
  return *std::find_if(kinds.begin(), kinds.end(),
                       [&](const OptimizerKind& kind) { return kind.name == name; });
}

std::string kind_title(const std::string& name) {
  for (const OptimizerKind& kind : optimizer_kinds())
    if (kind.name == name && !kind.title.empty()) return kind.title;
  return name;
}

const OptimizerKind& rule_of(const OptimizerConfig& optimizer, const Route& route) {
  if (route.rule != optimizer.kind && route.rule != "adamw") {
    throw Error(route.name, "has the update rule '" + route.rule + "', which is not one of " +
                                optimizer.kind + "; it has \"" + optimizer.kind +
                                "\" and \"adamw\"");
  }
  return optimizer_kind(route.rule, route.name);
}

OptimizerConfig rule_options(const OptimizerConfig& optimizer, const Route& route) {
  if (rule_of(optimizer, route).name == optimizer.kind) return optimizer;
  const Json* nested = optimizer.find("adamw");
  if (nested == nullptr)
    throw Error(route.name, "goes to \"adamw\", for which " + optimizer.kind + " has no options");
  return {"adamw", nested->as_object()};
}

}  // namespace draftlab

#include "record/layers/layer_kind.h"

#include <algorithm>

#include "base/json.h"

namespace draftlab {

const std::vector<const LayerKind*>& layer_kinds() {
  static const std::vector<const LayerKind*> kinds = {&full_attention(), &sliding_attention(),
                                                      &gated_delta_net()};
  return kinds;
}

const LayerKind& layer_kind(const std::string& name, const std::string& where) {
  std::vector<std::string> names;
  for (const LayerKind* kind : layer_kinds()) {
    if (kind->name == name) return *kind;
    names.push_back(kind->name);
  }
  require_one_of(name, names, where);
  return *layer_kinds().front();  // not reached: the line above throws
}

bool has_layer(const DrafterConfig& config, const LayerKind& kind) {
  return std::ranges::find(config.layer_types, kind.name) != config.layer_types.end();
}

}  // namespace draftlab

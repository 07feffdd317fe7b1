#include "model/layers/token_mixer.h"

#include <utility>

#include "base/json.h"

namespace draftlab {
namespace {

using Maker = std::unique_ptr<TokenMixer> (*)(const DrafterConfig&, Workspace&);

const std::vector<std::pair<std::string, Maker>> kMakers = {
    {"full_attention", make_full_attention},
    {"sliding_attention", make_sliding_attention},
    {"gated_delta_net", make_gated_delta_net},
};

}  // namespace

std::unique_ptr<TokenMixer> make_token_mixer(const std::string& type, const DrafterConfig& config,
                                             Workspace& workspace) {
  std::vector<std::string> names;
  for (const auto& [name, make] : kMakers) {
    if (name == type) return make(config, workspace);
    names.push_back(name);
  }
  require_one_of(type, names, "drafter.layer_types");
  return nullptr;  // not reached: the line above throws
}

}  // namespace draftlab

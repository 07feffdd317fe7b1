#include "record/optimizer_kind.h"

// The optimizers, one a file of this folder. A new one is named in both lists; its step stands in
// the table of optim/rules.

namespace draftlab {
namespace optimizers {

OptimizerKind adamw(), lion(), adam_mini(), muon(), normuon(), turbo_muon(), muon_all(), soap(),
    shampoo();

}  // namespace optimizers

const std::vector<OptimizerKind>& optimizer_kinds() {
  using namespace optimizers;
  static const std::vector<OptimizerKind> kinds = {
      adamw(), lion(), adam_mini(), muon(), normuon(), turbo_muon(), muon_all(), soap(), shampoo()};
  return kinds;
}

}  // namespace draftlab

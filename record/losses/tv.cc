#include "record/losses/kinds.h"

namespace draftlab::losses {

LossKind tv() {
  return {.name = "tv",
          .summary = "total variation: the share of samples that the target would reject",
          .source = "speculators' tv",
          .formula = "1 - a, a = sum of min(p, q)",
          .needs_target = true};
}

}  // namespace draftlab::losses

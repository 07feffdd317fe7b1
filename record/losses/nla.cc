#include "record/losses/kinds.h"

namespace draftlab::losses {

LossKind nla() {
  return {.name = "nla",
          .summary = "negative logarithm of the expected acceptance",
          .source = "speculators' nla",
          .formula = "-log max(a, 1e-5), a = sum of min(p, q); no gradient where a < 1e-5",
          .needs_target = true};
}

}  // namespace draftlab::losses

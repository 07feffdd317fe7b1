#include "record/losses/kinds.h"

namespace draftlab::losses {

LossKind jsd() {
  return {.name = "jsd",
          .summary = "Jensen-Shannon divergence, between kl and rkl and at most log 2",
          .source = "speculators' jsd",
          .formula = "KL(p || m) / 2 + KL(q || m) / 2, m = (p + q) / 2",
          .needs_target = true};
}

}  // namespace draftlab::losses

#include "record/losses/kinds.h"

namespace draftlab::losses {

LossKind lk_hybrid() {
  return {
      .name = "lk_hybrid",
      .summary = "kl while the drafter is far from the target, tv when it is near",
      .source = "speculators' lk_hybrid",
      .formula = "c KL(p || q) + (1 - c) (1 - a), a = sum of min(p, q), c = e^(-3 a) held fixed",
      .needs_target = true};
}

}  // namespace draftlab::losses

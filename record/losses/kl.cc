#include "record/losses/kinds.h"

namespace draftlab::losses {

LossKind kl() {
  return {.name = "kl",
          .summary = "Kullback-Leibler divergence of the drafter from the target",
          .source = "speculators' kl_div",
          .formula = "KL(p || q) = sum of p log(p / q)",
          .needs_target = true};
}

}  // namespace draftlab::losses

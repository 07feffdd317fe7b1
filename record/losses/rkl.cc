#include "record/losses/kinds.h"

namespace draftlab::losses {

LossKind rkl() {
  return {
      .name = "rkl",
      .summary = "reverse Kullback-Leibler divergence, which forgives a drafter that misses modes",
      .source = "speculators' rkl",
      .formula = "KL(q || p) = sum of q log(q / p)",
      .needs_target = true};
}

}  // namespace draftlab::losses

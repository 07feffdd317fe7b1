#include "record/losses/kinds.h"

namespace draftlab::losses {

LossKind dpace() {
  return {
      .name = "dpace",
      .summary = "cross entropy, weighted by how far the drafter itself would get in the block",
      .source = "D-PACE; SpecForge's loss_types dpace, and speculators' default for DFlash",
      .formula =
          "-log q(y), with w_k = sum over j >= k of P_j, P_k = prod over i <= k of s_i,\n"
          "s_i = (1 - alpha) q_i(y_i) + alpha where slot i is supervised, else 1",
      .weighs_slots = true,
      // SpecForge divides by sequences, which makes the loss grow with the number of anchors,
      // so that clipping would mean something else than for every other loss.
      .normalize = "labels",
      .options = {{.key = "alpha",
                   .fallback = 0.5,
                   .low = 1e-6,
                   .high = 1,
                   .meaning = "confidence that a slot has at least; 1 takes q out of the "
                              "weights"},
                  {.key = "variant",
                   .fallback = "dpace",
                   .choices = {"dpace", "cumulative-confidence-only", "continuation-value-only"},
                   .meaning = "w_k is sum over j >= k of P_j, or P_k, or the one divided by the "
                              "other"}}};
}

}  // namespace draftlab::losses

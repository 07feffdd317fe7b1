#include "record/losses/kinds.h"

namespace draftlab::losses {

LossKind ce() {
  return {.name = "ce",
          .summary = "cross entropy of the label",
          .source = "DFlash; SpecForge's loss_type dflash",
          .formula = "-log q(y)"};
}

}  // namespace draftlab::losses

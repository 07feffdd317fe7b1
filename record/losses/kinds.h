#pragma once

#include "record/loss_config.h"

namespace draftlab::losses {

// One file each; loss_kinds() lists them.
LossKind ce();
LossKind dpace();
LossKind kl();
LossKind rkl();
LossKind jsd();
LossKind tv();
LossKind nla();
LossKind lk_hybrid();

}  // namespace draftlab::losses

#pragma once

#include "kernels/named_tensors.h"

namespace draftlab {

// Scales all gradients in place so that their global L2 norm is at most `max_norm`: SpecForge's
// rule, the factor min(1, max_norm / (norm + 1e-6)), with the sum of squares in float64. `max_norm`
// 0 only measures. Returns the norm before clipping. A norm that is not finite is returned, and
// nothing is scaled.
double clip_gradients(NamedTensors& gradients, double max_norm);

}  // namespace draftlab

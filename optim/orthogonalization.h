#pragma once

#include "kernels/newton_schulz.h"
#include "record/optimizer_config.h"

namespace draftlab {

// What the options "orthogonalizer", "steps", "epsilon", "safety", ... of an optimizer mean to the
// kernels. "epsilon": "published" takes the floor of the orthogonalizer's source; in the
// conventions of torch and speculators it is torch's, max(norm, epsilon). Throws Error for options
// that Polar Express cannot be made for.
Orthogonalization orthogonalization(const OptimizerConfig& config);

}  // namespace draftlab

#pragma once

#include <string>

#include "record/optimizer_kind.h"

namespace draftlab {

// Hyperball (arXiv 2606.16899): a wrapper on any update u of a matrix, which keeps the norm R that
// the matrix began with and takes no decay, so that eta alone says how far a step turns it:
//   W <- R n(W - eta R n(u)),   n(x) = x / (||x||_F + 1e-10)
// Each row block of a split is a matrix of its own.
constexpr double kHyperballFloor = 1e-10;

// The kind with the option "hyperball". Options that would do nothing beside it (the shape's scale,
// the form of the decay) exist only where it is false, and decay is 0 by default where it is true.
OptimizerKind with_hyperball(OptimizerKind kind);

// Throws Error for decay beside Hyperball; `where` is the place of "weight_decay".
void require_no_decay(const OptimizerConfig& optimizer, const std::string& where);

// Whether a tensor is kept on its sphere: a matrix under the optimizer's own rule. Vectors, and
// tensors of the AdamW beside another kind, are not.
bool on_hyperball(const OptimizerConfig& optimizer, const Route& route);

// R of each block, 0 until the first step takes it from the weights.
Buffer radius_buffer(const Route& route);

}  // namespace draftlab

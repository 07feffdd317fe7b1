#pragma once

#include <ATen/core/Tensor.h>

#include "kernels/adamw_step.h"
#include "kernels/orthogonalize.h"

namespace draftlab {

// SOAP (Vyas et al. 2024, arXiv 2409.11321, algorithm 3): Adam in the eigenbasis of Shampoo's
// preconditioners. One weight W [m, n] with gradient G keeps
//   M [m, n]  mean gradient, not rotated, so that another optimizer can take it over
//   V [m, n]  mean squared gradient, in the basis
//   L [m, m], R [n, n]  mean G G^T and G^T G
//   Q_L, Q_R  their eigenvectors as columns, largest eigenvalue first
// L and Q_L (R and Q_R) are undefined where that side is not rotated.
struct Soap {
  at::Tensor m, v;
  at::Tensor left, right;
  at::Tensor left_basis, right_basis;
};

// M and V take G in, and N = Q_L (M' / (1 - beta1^m_steps) / (sqrt(V / (1 - beta2^v_steps)) +
// epsilon)) Q_R^T with M' = Q_L^T M Q_R. The result lies in slots 0 .. 2 of the workspace.
at::Tensor soap_direction(const at::Tensor& gradient, Soap& state, const AdamWStep& step,
                          Workspace& workspace);

// The eigenvectors of L and R: once, at the first step. Allocates.
void first_basis(Soap& state);

// Afterwards one power iteration, Q <- qr(L Q), with columns (and V with them) sorted by the
// eigenvalue they stand for, largest first: follows L at a fraction of the cost. Allocates.
void next_basis(Soap& state);

}  // namespace draftlab

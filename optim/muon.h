#pragma once

#include <ATen/core/Tensor.h>

#include "kernels/orthogonalize.h"

namespace draftlab {

// Muon (Jordan et al. 2024) and its family for one weight W [m, n] with gradient G and first moment
// M, both [m, n]. One update is
//   O = muon_direction(G, M, ...)      or normuon_direction
//   muon_update(W, O, rate, decay)
// All tensors have one dtype (float32 or float64) and device. A zero gradient on zero state gives
// an exactly zero O; NaN gives NaN. The results O lie in the workspace, valid until its next use.
struct MuonOptions {
  double momentum = 0.95;
  bool nesterov = true;
  Orthogonalization orthogonalization;  // kTurbo makes it Turbo-Muon (Boissin et al. 2025)
};

// M <- momentum M + (1 - momentum) G, then O = orthogonalize(U) [m, n] with U = (1 - momentum) G +
// momentum M (Nesterov) or U = M.
at::Tensor muon_direction(const at::Tensor& gradient, at::Tensor& momentum,
                          const MuonOptions& options, Workspace& workspace);

// NorMuon (Li et al. 2025, as in its authors' code): O as above; then each row is divided by the
// root of its running mean square V [m, 1], V <- beta2 V + (1 - beta2) mean_j O_ij^2, and the whole
// is scaled back to the Frobenius norm that O had. There is no bias correction: the rescaling
// cancels it.
at::Tensor normuon_direction(const at::Tensor& gradient, at::Tensor& momentum,
                             at::Tensor& row_mean_square, double beta2, const MuonOptions& options,
                             Workspace& workspace);

// W <- decay W - rate O.
void muon_update(at::Tensor& weight, const at::Tensor& direction, double rate, double decay);

}  // namespace draftlab

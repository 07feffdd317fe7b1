#pragma once

#include <ATen/core/Tensor.h>

#include <string>

namespace draftlab {

// NorMuon (Li et al. 2025, arXiv 2510.05491): after the orthogonalization rows of O are evened out
// by a running mean square V of each row, then the whole is scaled back. The sources differ in
// floors and in what is scaled:
//   official       O_ij / (sqrt(V_i) + 1e-10), then O * n0 / (||O||_F + 1e-10)
//   paper          the same floors
//   dion           O_ij / (sqrt(V_i) + 1e-8), then O * n0 / max(||O||_F, 1e-8)
//   modded_nanogpt O_ij / sqrt(max(V_i, 1e-10)), then O * n0 / max(||O||_F, 1e-10), and columns
//                  instead of rows where there are more columns
// with V_i <- beta2 V_i + (1 - beta2) mean_j O_ij^2 and n0 the norm ||O||_F that O came with. There
// is no bias correction: the scaling back cancels it.
struct NorMuon {
  std::string convention = "official";
  double beta2 = 0.95;
  bool unit_norm = false;  // scaled to norm 1 instead of n0: the rate holds 0.2 sqrt(m n)
};

// O [.., m, n] is changed in place, per matrix of a batch; V [.., m, 1], or [.., 1, n] for columns,
// is updated. Zero stays zero.
void even_out(at::Tensor& o, at::Tensor& v, const NorMuon& form);

}  // namespace draftlab

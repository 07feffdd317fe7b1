#pragma once

#include <ATen/core/Tensor.h>

#include "kernels/adamw_step.h"
#include "kernels/orthogonalize.h"

namespace draftlab {

// Shampoo (Gupta et al. 2018, arXiv 1802.09568) in brief form: for one weight with mean gradient M
// [m, n] and the mean L [m, m] of G G^T and R [n, n] of G^T G (optim/rules/two_sided.h, mix_in),
//   U = L^(-1/4) M R^(-1/4)
// grafted to the norm of Adam's update A, as distributed Shampoo does:
//   U ||A||_F / ||U||_F,   A = M / (1 - beta1^m_steps) / (sqrt(V / (1 - beta2^v_steps)) + epsilon)
// Without averages (both betas 0) U is exactly the polar factor of G: Muon's direction.
struct Shampoo {
  at::Tensor m, v;                   // [m, n] mean gradient and mean squared gradient
  at::Tensor left_root, right_root;  // [m, m], [n, n]
};

// M and V take G in; the result lies in slots 0 .. 1 of the workspace. Zero for a zero M.
at::Tensor shampoo_direction(const at::Tensor& gradient, Shampoo& state, const AdamWStep& step,
                             Workspace& workspace);

// (P + floor I)^(-1/4) for a symmetric P >= 0, by eigenvalues in float64; the floor is `epsilon`
// (at least the rounding of P's dtype) times the largest eigenvalue, so that the scale of P does
// not matter. The identity for P = 0. Allocates.
at::Tensor inverse_fourth_root(const at::Tensor& p, double epsilon);

}  // namespace draftlab

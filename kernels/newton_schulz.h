#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

namespace draftlab {

// Orthogonalization of a matrix X [m, n]: the polar factor U V^T of X = U S V^T, exact or
// approximated by odd polynomials of X that push every singular value towards 1. All functions take
// float32 or float64 of any 2-D shape, leave X alone and return a new tensor of its shape and
// dtype. A zero matrix gives exact zeros, zero rows and columns stay zero, NaN or infinity anywhere
// gives NaN. These are the plain versions, written as their sources state them;
// kernels/orthogonalize.h has the fast ones.

// One step: X <- a X + b (X X^T) X + c (X X^T)^2 X, that is p(x) = a x + b x^3 + c x^5 on singular
// values.
struct Quintic {
  double a, b, c;
};

// Keller Jordan's constants, the same in every step. They trade accuracy for speed near 0: singular
// values end between .68 and 1.20, not at 1. Any number of steps.
const std::vector<Quintic>& keller_jordan_quintics();

// Of flash-newton-schulz (Turbo-Muon), for a matrix whose rows are scaled by AOL. A chain longer
// than the table repeats its last step; the table makes no sense cut short.
const std::vector<Quintic>& aol_quintics();

// The step k = 0, 1, ... of a chain.
const Quintic& quintic(const std::vector<Quintic>& table, int64_t k);

// How X is brought to singular values of at most 1. The published epsilons keep tiny matrices from
// being scaled up: at 1e-8 times its usual size a gradient's direction is already wrong, at 1e-12
// it is gone.
enum class Normalization {
  kScaleFree,       // X / ||X||_F, divided by the largest absolute entry first so that no scale
                    // overflows
  kPlusEpsilon,     // X / (||X||_F + 1e-7): Keller Jordan's Muon
  kAtLeastEpsilon,  // X / max(||X||_F, 1e-7): torch.optim.Muon
};

// Newton-Schulz with Keller Jordan's constants, in the dtype of X (the source runs in bf16).
at::Tensor newton_schulz(const at::Tensor& x, int64_t steps, Normalization normalization);

// Turbo-Muon: rows (columns, where m > n) are scaled by s_i = 1/sqrt(max(sum_j |X X^T|_ij, 1e-7)),
// which bounds the singular values by 1 (AOL, Prach and Lampert 2022), then Newton-Schulz with
// aol_quintics(). The first step reuses the scaled X X^T. The result approximates the polar factor
// of the scaled matrix. kPlusEpsilon and kAtLeastEpsilon are the same here. REQUIRES: steps >= 4.
at::Tensor turbo_newton_schulz(const at::Tensor& x, int64_t steps, Normalization normalization);

// The exact polar factor by SVD, of the part of X whose singular values are above 1e-12 times the
// largest (1e-6 in float32): the oracle of tests.
at::Tensor polar_factor(const at::Tensor& x);

}  // namespace draftlab

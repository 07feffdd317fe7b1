#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

#include "kernels/quintic.h"

namespace draftlab {

// Orthogonalization of a matrix X [m, n]: the polar factor U V^T of X = U S V^T, exact or
// approximated by odd polynomials of X that push every singular value towards 1.

// How X is brought to singular values of at most 1 before the first step.
enum class Normalizer {
  kFrobenius,  // X / (safety ||X||_F)
  kSchatten4,  // X / (safety ||X X^T||_F^(1/2)): tighter; the first step reuses X X^T
  kAol,        // Turbo-Muon: row i (column, where m > n) times 1 / (safety sqrt(sum_j |X X^T|_ij)),
               // after Prach and Lampert 2022. The first step reuses X X^T. The result approximates
               // the polar factor of the scaled matrix.
};

// The smallest divisor. The published epsilons keep tiny matrices from being scaled up: at 1e-8
// times its usual size a gradient's direction is already wrong, at 1e-12 it is gone. For kSchatten4
// and kAol the epsilon applies to entries and sums of X X^T, as in their sources, and so bites
// earlier.
enum class Floor {
  kNone,     // X is divided by its largest entry first: any scale gives the same result, and only
             // zero stays zero (for kAol also rows below 1e-15 of the largest entry)
  kPlus,     // norm + epsilon
  kAtLeast,  // max(norm, epsilon)
};

// How the steps are carried out; the results are the same up to rounding.
enum class Form {
  kAuto,  // what costs least for the shape without losing accuracy; plain: three products a step,
          // two of them with the long side
  kGram,  // Gram Newton-Schulz (Dao-AILab): steps on X X^T alone, which is formed anew before the
          // steps in `restarts`. Fast; without restarts too inaccurate for 16-bit storage.
};

struct Orthogonalization {
  std::vector<Quintic> quintics;  // empty: the exact polar factor by SVD, whatever else is set
  int64_t steps = 5;              // past the end of `quintics` its last one repeats
  Normalizer normalizer = Normalizer::kFrobenius;
  double safety = 1;
  Floor floor = Floor::kNone;
  double epsilon = 1e-7;  // of kPlus and kAtLeast
  Form form = Form::kAuto;
  std::vector<int64_t> restarts = {};  // of kGram
};

// The plain version, one ATen operation after the other, which is the specification;
// kernels/orthogonalize.h has the fast one. X is a matrix [m, n] or a batch [b, m, n] of
// independent ones, float32, float64 or bfloat16 (in its own arithmetic), of any strides and
// device. It is left alone; the result is a new tensor of its shape and dtype. A zero matrix gives
// exact zeros, zero rows and columns stay zero. Throws Error where X has a NaN or an infinity
// anywhere, or is neither a matrix nor a batch. Deterministic.
at::Tensor newton_schulz(const at::Tensor& x, const Orthogonalization& how);

// What newton_schulz() makes of the diagonal matrix of a vector [d], in O(d): the chain runs on the
// entries, which are the signed singular values (MuonAll does this to biases and norms). Vectors
// beyond a million entries lie below the useful range of most tables.
at::Tensor newton_schulz_diagonal(const at::Tensor& x, const Orthogonalization& how);

// What the plain and the fast version share. The factor [.., 1, 1] of X, or [.., m, 1] of its rows,
// that normalizes X [.., m, n], m <= n, given X X^T, where X has been divided by `largest`
// [.., 1, 1], its largest entry; and the errors for what cannot be orthogonalized.
at::Tensor normalizing_scale(const at::Tensor& gram, const at::Tensor& largest,
                             const Orthogonalization& how);
void require_matrices(const at::Tensor& x, const Orthogonalization& how);
[[noreturn]] void throw_not_finite();

}  // namespace draftlab

#pragma once

#include <ATen/core/Tensor.h>

#include <array>
#include <cstdint>

#include "kernels/newton_schulz.h"

namespace draftlab {

// Reused memory for matrices of changing shapes: one buffer per slot, which grows to the largest
// asked for. After the first pass over all shapes nothing is allocated.
class Workspace {
 public:
  // A contiguous [rows, cols] view of the slot's buffer, with the dtype and device of `like` and
  // whatever was in it. Valid until the slot is asked for again. REQUIRES: slot <= kFree.
  at::Tensor matrix(size_t slot, int64_t rows, int64_t cols, const at::Tensor& like);

  // Bytes held.
  int64_t bytes() const;

  // The slots below belong to orthogonalize(), this one to its callers.
  static constexpr size_t kFree = 6;

 private:
  std::array<at::Tensor, kFree + 1> buffers_;
};

enum class Method { kNewtonSchulz, kTurbo };

struct Orthogonalization {
  Method method = Method::kNewtonSchulz;
  int64_t steps = 5;
  Normalization normalization = Normalization::kScaleFree;
};

// The same values as newton_schulz() and turbo_newton_schulz() up to rounding, with fewer
// operations:
// - Products that are symmetric (X X^T and all polynomials of it) are computed in row panels up to
// the
//   diagonal and mirrored: about .63 of the work.
// - Where X [m, n] is wide, runs of steps work on the m x m Gram matrix alone, as in Gram
// Newton-Schulz
//   (Dao-AILab/gram-newton-schulz): 14 m^3 + 6 m^2 n operations instead of 30 m^2 n for five steps.
//   Runs are short (two or three steps), because rounding errors of the Gram matrix grow with the
//   square of the polynomials' slope.
// X is float32 or float64, any 2-D shape, CPU or CUDA. The result lies in `workspace` and is valid
// until the next call with it. Deterministic for a given number of threads.
at::Tensor orthogonalize(const at::Tensor& x, const Orthogonalization& how, Workspace& workspace);

}  // namespace draftlab

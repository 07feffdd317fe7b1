#pragma once

#include <ATen/core/Tensor.h>

#include <array>
#include <cstdint>
#include <string>

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

// The values of newton_schulz() up to rounding, with fewer operations:
// - Products that are symmetric (X X^T and all polynomials of it) compute half of their entries.
// - Runs of steps work on the m x m Gram matrix of a wide X [m, n] alone, as in Gram Newton-Schulz:
//   14 m^3 + 6 m^2 n operations instead of 10 m^3 + 20 m^2 n for five steps. Runs are short,
//   because the rounding errors of the Gram matrix grow with the square of the polynomials' slope.
// X as for newton_schulz(), float32 or float64. The result lies in `workspace` and is valid until
// the next call with it (the exact polar factor is a new tensor). May be called inside a parallel
// region, with one workspace per thread. Deterministic for a given number of threads.
at::Tensor orthogonalize(const at::Tensor& x, const Orthogonalization& how, Workspace& workspace);

// What orthogonalize() does to one matrix, in floating-point operations of its matrix products.
struct OrthogonalizationCost {
  std::string form;     // "exact", "standard", or the lengths of the runs on Gram matrices: "2+3"
  double dense_flops;   // of the textbook form: steps (4 m^2 n + 2 m^3), m <= n
  double actual_flops;  // a symmetric product counted half
  int64_t gemms;        // matrix products
};
OrthogonalizationCost orthogonalization_cost(int64_t rows, int64_t cols,
                                             const Orthogonalization& how);

}  // namespace draftlab

#pragma once

#include <ATen/core/Tensor.h>

namespace draftlab {

// out <- alpha A B^T + beta C + diagonal I for A, B [m, k] whose product A B^T is symmetric, as
// X X^T is and the product of two polynomials of one symmetric matrix; C and out are [m, m], C
// symmetric. One triangle is computed, in blocks, and mirrored: a little over half the operations
// of a full product, and `out` is exactly symmetric. On a GPU it is one full product.
// REQUIRES: float32 or float64, all of one dtype and device; A and B have a stride of 1 along rows
// or columns; out is contiguous and none of the others; C is contiguous or undefined (zero).
void symmetric_product(const at::Tensor& a, const at::Tensor& b, at::Tensor& out, double alpha = 1,
                       double beta = 0, const at::Tensor& c = {}, double diagonal = 0);

}  // namespace draftlab

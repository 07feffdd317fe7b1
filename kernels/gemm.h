#pragma once

#include <cstdint>

namespace draftlab {

// C = alpha op(A) op(B) + beta C on row-major memory, by the BLAS inside libtorch; op transposes
// where its flag is set. C is [m, n], op(A) [m, k], op(B) [k, n]; lda, ldb, ldc are the row strides
// of the matrices as stored. Inside at::parallel_for it runs on the calling thread alone. For whole
// tensors use at::mm_out.
void gemm(bool transpose_a, bool transpose_b, int64_t m, int64_t n, int64_t k, float alpha,
          const float* a, int64_t lda, const float* b, int64_t ldb, float beta, float* c,
          int64_t ldc);
void gemm(bool transpose_a, bool transpose_b, int64_t m, int64_t n, int64_t k, double alpha,
          const double* a, int64_t lda, const double* b, int64_t ldb, double beta, double* c,
          int64_t ldc);

}  // namespace draftlab

#include "kernels/symmetric_product.h"

#include <ATen/ATen.h>

#include <algorithm>

#include "kernels/gemm.h"
#include "kernels/lanes.h"
#include "kernels/placement.h"

namespace draftlab {
namespace {

// Blocks on the diagonal stop being halved here. Smaller ones leave out more of the other triangle
// but feed the matrix units worse.
constexpr int64_t kSmallestBlock = 48;

// Transposes a tile: after interleaving rows i and i + 8 four times (a0 b0 a1 b1 ...), row j holds
// column j.
template <typename T>
DRAFTLAB_INLINE void transpose(Lanes<T> (&rows)[kLanes]) {
  static_assert(kLanes == 16);
  for (int round = 0; round < 4; ++round) {
    Lanes<T> next[kLanes];
    for (int i = 0; i < 8; ++i) {
      const Lanes<T>&a = rows[i], &b = rows[i + 8];
      next[2 * i] =
          __builtin_shufflevector(a, b, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
      next[2 * i + 1] = __builtin_shufflevector(a, b, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29,
                                                14, 30, 15, 31);
    }
    for (int i = 0; i < kLanes; ++i) rows[i] = next[i];
  }
}

// A block of `out` below the diagonal, as rows x cols at `block`, and its mirror image, where rows
// are `stride` apart: block <- block + beta c, and the same transposed. `c` may be null.
template <typename T>
DRAFTLAB_INLINE void finish_any(T* block, T* mirror, const T* c, T beta, int64_t rows, int64_t cols,
                                int64_t stride) {
  for (int64_t i = 0; i < rows; i += kLanes) {
    for (int64_t j = 0; j < cols; j += kLanes) {
      T* corner = block + i * stride + j;
      if (i + kLanes <= rows && j + kLanes <= cols) {
        Lanes<T> tile[kLanes];
        for (int64_t k = 0; k < kLanes; ++k) {
          tile[k] = lanes(corner + k * stride);
          if (c == nullptr) continue;
          tile[k] += beta * lanes(c + (i + k) * stride + j);
          lanes(corner + k * stride) = tile[k];
        }
        transpose<T>(tile);
        for (int64_t k = 0; k < kLanes; ++k) lanes(mirror + (j + k) * stride + i) = tile[k];
        continue;
      }
      for (int64_t k = i; k < std::min<int64_t>(i + kLanes, rows); ++k) {
        for (int64_t l = j; l < std::min<int64_t>(j + kLanes, cols); ++l) {
          if (c != nullptr) block[k * stride + l] += beta * c[k * stride + l];
          mirror[l * stride + k] = block[k * stride + l];
        }
      }
    }
  }
}

DRAFTLAB_CLONES void finish(float* block, float* mirror, const float* c, float beta, int64_t rows,
                            int64_t cols, int64_t stride) {
  finish_any(block, mirror, c, beta, rows, cols, stride);
}

DRAFTLAB_CLONES void finish(double* block, double* mirror, const double* c, double beta,
                            int64_t rows, int64_t cols, int64_t stride) {
  finish_any(block, mirror, c, beta, rows, cols, stride);
}

// Rows of a matrix in memory, one of whose strides is 1.
template <typename T>
struct Rows {
  explicit Rows(const at::Tensor& x)
      : data(x.const_data_ptr<T>()),
        transposed(x.stride(1) != 1),
        stride(transposed ? std::max(x.stride(1), x.size(0)) : std::max(x.stride(0), x.size(1))) {}
  const T* from(int64_t row) const { return data + row * (transposed ? 1 : stride); }

  const T* data;
  bool transposed;
  int64_t stride;
};

template <typename T>
struct Product {
  // The triangle of rows and columns [first, last): two smaller triangles and the square between.
  void triangle(int64_t first, int64_t last) const {
    if (last - first <= kSmallestBlock) {
      block(first, last, first, last);
      for (int64_t i = first; i < last; ++i) {
        T* row = out + i * m;
        for (int64_t j = first; c != nullptr && j <= i; ++j) row[j] += beta * c[i * m + j];
        row[i] += diagonal;
        for (int64_t j = first; j < i; ++j) out[j * m + i] = row[j];
      }
      return;
    }
    const int64_t middle = first + ((last - first) / 2 + kLanes - 1) / kLanes * kLanes;
    triangle(first, middle);
    triangle(middle, last);
    block(middle, last, first, middle);
    const int64_t below = middle * m + first;
    finish(out + below, out + first * m + middle, c == nullptr ? nullptr : c + below, beta,
           last - middle, middle - first, m);
  }

  void block(int64_t row, int64_t row_end, int64_t col, int64_t col_end) const {
    gemm(a.transposed, !b.transposed, row_end - row, col_end - col, k, alpha, a.from(row), a.stride,
         b.from(col), b.stride, T{0}, out + row * m + col, m);
  }

  Rows<T> a, b;
  const T* c;
  T* out;
  int64_t m, k;
  T alpha, beta, diagonal;
};

template <typename T>
void on_cpu(const at::Tensor& a, const at::Tensor& b, at::Tensor& out, double alpha, double beta,
            const at::Tensor& c, double diagonal) {
  const Product<T> product = {Rows<T>(a),
                              Rows<T>(b),
                              c.defined() ? c.const_data_ptr<T>() : nullptr,
                              out.mutable_data_ptr<T>(),
                              a.size(0),
                              a.size(1),
                              static_cast<T>(alpha),
                              static_cast<T>(beta),
                              static_cast<T>(diagonal)};
  product.triangle(0, a.size(0));
}

}  // namespace

void symmetric_product(const at::Tensor& a, const at::Tensor& b, at::Tensor& out, double alpha,
                       double beta, const at::Tensor& c, double diagonal) {
  if (plain_memory({out})) {
    if (a.scalar_type() == at::kDouble) {
      on_cpu<double>(a, b, out, alpha, beta, c, diagonal);
    } else {
      on_cpu<float>(a, b, out, alpha, beta, c, diagonal);
    }
    return;
  }
  if (c.defined()) {
    at::addmm_out(out, c, a, b.t(), beta, alpha);
  } else {
    at::mm_out(out, a, b.t());
    if (alpha != 1) out.mul_(alpha);
  }
  if (diagonal != 0) out.diagonal().add_(diagonal);
}

}  // namespace draftlab

#include "kernels/row_product.h"

#include <ATen/Parallel.h>

#include <algorithm>

#include "kernels/lanes.h"

namespace draftlab {
namespace {

// Rows of w that are read side by side, and rows of x that meet them while they are in registers.
constexpr int kOuts = 4, kRows = 4;

// lane_sum() in registers.
DRAFTLAB_INLINE float sum_of(const Lanes<float>& x) {
  typedef float Eight __attribute__((vector_size(32)));
  typedef float Four __attribute__((vector_size(16)));
  const Eight e = __builtin_shufflevector(x, x, 0, 1, 2, 3, 4, 5, 6, 7) +
                  __builtin_shufflevector(x, x, 8, 9, 10, 11, 12, 13, 14, 15);
  const Four f =
      __builtin_shufflevector(e, e, 0, 1, 2, 3) + __builtin_shufflevector(e, e, 4, 5, 6, 7);
  const Four g = f + __builtin_shufflevector(f, f, 2, 3, 2, 3);
  return g[0] + g[1];
}

template <int kSomeOuts, int kSomeRows>
DRAFTLAB_INLINE void tile(bool ahead, const float* x, const float* w, int64_t in, int64_t outs,
                          float* out) {
  Lanes<float> sum[kSomeOuts][kSomeRows] = {};
  int64_t i = 0;
  for (; i + kLanes <= in; i += kLanes) {
    for (int r = 0; r < kSomeRows; ++r) {
      const Lanes<float> of_row = lanes(x + r * in + i);
      for (int o = 0; o < kSomeOuts; ++o) sum[o][r] += of_row * lanes(w + o * in + i);
    }
    if (ahead) {
      for (int o = 0; o < kSomeOuts; ++o) __builtin_prefetch(w + (kSomeOuts + o) * in + i);
    }
  }
  for (int l = 0; i < in; ++i, ++l) {
    for (int r = 0; r < kSomeRows; ++r)
      for (int o = 0; o < kSomeOuts; ++o) sum[o][r][l] += x[r * in + i] * w[o * in + i];
  }
  for (int r = 0; r < kSomeRows; ++r)
    for (int o = 0; o < kSomeOuts; ++o) out[r * outs + o] = sum_of(sum[o][r]);
}

template <int kSomeOuts>
DRAFTLAB_INLINE void all_rows(const float* x, const float* w, int64_t rows, int64_t in,
                              int64_t outs, float* out) {
  int64_t r = 0;
  for (; r + kRows <= rows; r += kRows)
    tile<kSomeOuts, kRows>(r == 0, x + r * in, w, in, outs, out + r * outs);
  for (; r + 2 <= rows; r += 2) tile<kSomeOuts, 2>(r == 0, x + r * in, w, in, outs, out + r * outs);
  for (; r < rows; ++r) tile<kSomeOuts, 1>(r == 0, x + r * in, w, in, outs, out + r * outs);
}

DRAFTLAB_CLONES
void some_outs(const float* x, const float* w, int64_t rows, int64_t in, int64_t outs, float* out,
               int64_t begin, int64_t end) {
  int64_t o = begin;
  for (; o + kOuts <= end; o += kOuts) all_rows<kOuts>(x, w + o * in, rows, in, outs, out + o);
  for (; o < end; ++o) all_rows<1>(x, w + o * in, rows, in, outs, out + o);
}

}  // namespace

void row_product(const float* x, const float* w, int64_t rows, int64_t in, int64_t outs,
                 float* out) {
  constexpr int64_t kWork = 1 << 16;  // multiplications below which a second thread costs more
  const int64_t grain = std::max<int64_t>(1, kWork / std::max<int64_t>(1, rows * in));
  at::parallel_for(0, outs, grain, [&](int64_t begin, int64_t end) {
    some_outs(x, w, rows, in, outs, out, begin, end);
  });
}

}  // namespace draftlab

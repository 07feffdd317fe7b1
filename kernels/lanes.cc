#include "kernels/lanes.h"

#include <limits>

namespace draftlab {
namespace {

template <typename T>
DRAFTLAB_INLINE T maximum_of(const T* x, int64_t n) {
  Lanes<T> largest = -std::numeric_limits<T>::infinity() - Lanes<T>{};
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) largest = largest < lanes(x + i) ? lanes(x + i) : largest;
  T result = -std::numeric_limits<T>::infinity();
  for (int l = 0; l < kLanes; ++l) result = result < largest[l] ? T(largest[l]) : result;
  for (; i < n; ++i) result = result < x[i] ? x[i] : result;
  return result;
}

template <typename T>
DRAFTLAB_INLINE T exponentials_of(T* x, int64_t n, T shift) {
  Lanes<T> sum = {};
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    for (int l = 0; l < kLanes; ++l) x[i + l] = exponential(x[i + l] - shift);
    sum += lanes(x + i);
  }
  for (int l = 0; i < n; ++i, ++l) {
    x[i] = exponential(x[i] - shift);
    sum[l] += x[i];
  }
  return lane_sum<T>(sum);
}

}  // namespace

DRAFTLAB_CLONES float maximum(const float* x, int64_t n) { return maximum_of(x, n); }
DRAFTLAB_CLONES double maximum(const double* x, int64_t n) { return maximum_of(x, n); }
DRAFTLAB_CLONES float exponentials(float* x, int64_t n, float shift) {
  return exponentials_of(x, n, shift);
}
DRAFTLAB_CLONES double exponentials(double* x, int64_t n, double shift) {
  return exponentials_of(x, n, shift);
}

}  // namespace draftlab

#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>

// One function compiled for three instruction sets; the loader picks. All three give the same bits:
// sums run in a fixed lane order, and -ffp-contract=off keeps fused multiply-adds out.
#define DRAFTLAB_CLONES \
  __attribute__((target_clones("default", "arch=x86-64-v3", "arch=x86-64-v4")))
// For the bodies that clones share.
#define DRAFTLAB_INLINE [[gnu::always_inline]] inline

namespace draftlab {

// 16 numbers that are added up side by side: one AVX-512 register of floats, several smaller ones
// elsewhere.
constexpr int kLanes = 16;
template <typename T>
using Lanes [[gnu::vector_size(kLanes * sizeof(T)), gnu::aligned(alignof(T)), gnu::may_alias]] = T;

template <typename T>
DRAFTLAB_INLINE const Lanes<T>& lanes(const T* x) {
  return *reinterpret_cast<const Lanes<T>*>(x);
}
template <typename T>
DRAFTLAB_INLINE Lanes<T>& lanes(T* x) {
  return *reinterpret_cast<Lanes<T>*>(x);
}

// The sum of the lanes, pairwise.
template <typename T>
DRAFTLAB_INLINE T lane_sum(const Lanes<T>& x) {
  T sum[kLanes];
  std::memcpy(sum, &x, sizeof(sum));
  for (int width = kLanes / 2; width > 0; width /= 2)
    for (int l = 0; l < width; ++l) sum[l] += sum[l + width];
  return sum[0];
}

// sum of x[i] * y[i]
template <typename T>
DRAFTLAB_INLINE T dot(const T* x, const T* y, int64_t n) {
  Lanes<T> sum = {};
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) sum += lanes(x + i) * lanes(y + i);
  for (int l = 0; i < n; ++i, ++l) sum[l] += x[i] * y[i];
  return lane_sum<T>(sum);
}

// sum over i < n of term(i), in a fixed order
template <typename T, typename Term>
DRAFTLAB_INLINE T sum_over(int64_t n, const Term& term) {
  Lanes<T> sum = {};
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    T part[kLanes];
    for (int l = 0; l < kLanes; ++l) part[l] = term(i + l);
    sum += lanes<T>(static_cast<const T*>(part));
  }
  for (int l = 0; i < n; ++i, ++l) sum[l] += term(i);
  return lane_sum<T>(sum);
}

// e^x for x <= 88 with a relative error below 1.2e-7, as a short branch-free formula that
// vectorises: x = n ln 2 + r, |r| <= ln(2)/2, and the Taylor series of e^r up to r^7. 0 below -87
// and for -infinity.
DRAFTLAB_INLINE float exponential(float x) {
  constexpr float kRound = 0x1.8p23f;  // adding it rounds to a whole number, kept in the low bits
  const float shifted = x * 1.44269504f + kRound;
  const float n = shifted - kRound;
  const float r =
      (x - n * 0.693359375f) + n * 2.12194440e-4f;  // ln 2 in two parts; the first product is exact
  float sum = 1.f / 5040;
  sum = sum * r + 1.f / 720;
  sum = sum * r + 1.f / 120;
  sum = sum * r + 1.f / 24;
  sum = sum * r + 1.f / 6;
  sum = sum * r + 0.5f;
  sum = sum * r + 1;
  sum = sum * r + 1;
  const uint32_t power = (std::bit_cast<uint32_t>(shifted) + 127) << 23;  // the bits of 2^n
  return x < -87 ? 0 : sum * std::bit_cast<float>(power);
}
DRAFTLAB_INLINE double exponential(double x) { return std::exp(x); }

// 1 / (1 + e^-x) through e^-|x|, which cannot overflow.
template <typename T>
DRAFTLAB_INLINE T sigmoid(T x) {
  const T e = exponential(x < 0 ? x : -x);
  return (x < 0 ? e : T(1)) / (1 + e);
}

// The largest of x[0..n); -infinity for n = 0.
float maximum(const float* x, int64_t n);
double maximum(const double* x, int64_t n);

// x[i] = e^(x[i] - shift) in place; returns the sum. Values below shift - 87 become 0 in float.
float exponentials(float* x, int64_t n, float shift);
double exponentials(double* x, int64_t n, double shift);

}  // namespace draftlab

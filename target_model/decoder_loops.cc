#include "target_model/decoder_loops.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <vector>

// One loop, compiled for three widths; the loader picks. Without contraction all three agree bit
// for bit.
#define EVERY_VECTOR_WIDTH \
  __attribute__((target_clones("default", "arch=x86-64-v3", "arch=x86-64-v4")))

namespace draftlab {
namespace {

constexpr int64_t kLanes = 16;
// 16 floats at any address; narrower machines take several registers.
typedef float Lanes __attribute__((vector_size(kLanes * sizeof(float)), aligned(4), may_alias));

// e^x with an error of about 1e-7, after Cephes' expf (Moshier): e^x = 2^n e^r with |r| <= ln(2)/2.
// Written so that compilers vectorise a loop of it. x is clamped to [-87, 88]; NaN stays NaN.
inline __attribute__((always_inline)) float fast_exp(float x) {
  constexpr float kRound =
      12582912.f;  // 1.5 * 2^23: adding it leaves the nearest integer in the low bits
  x = std::min(std::max(x, -87.f), 88.f);
  const float shifted = x * 1.44269504f + kRound;
  const float n = shifted - kRound;
  const float r = (x - n * 0.693359375f) + n * 2.12194440e-4f;
  float p = 1.9875691500e-4f;
  p = p * r + 1.3981999507e-3f;
  p = p * r + 8.3334519073e-3f;
  p = p * r + 4.1665795894e-2f;
  p = p * r + 1.6666665459e-1f;
  p = p * r + 5.0000001201e-1f;
  const float e_r = p * r * r + r + 1.f;
  const int32_t exponent = std::bit_cast<int32_t>(shifted) - std::bit_cast<int32_t>(kRound);
  return e_r * std::bit_cast<float>((exponent + 127) << 23);
}

// Adds 16 partial sums, always in the same order.
inline __attribute__((always_inline)) float sum_of_lanes(const float* lanes) {
  float sum[kLanes];
  std::memcpy(sum, lanes, sizeof sum);
  for (int64_t half = kLanes / 2; half > 0; half /= 2) {
    for (int64_t t = 0; t < half; ++t) sum[t] += sum[t + half];
  }
  return sum[0];
}

// Scores of kBlocks * 16 positions: keys [blocks][head_dim][16].
template <int kBlocks>
inline __attribute__((always_inline)) void score_blocks(const float* query, const float* keys,
                                                        int64_t head_dim, float scale,
                                                        float* scores) {
  Lanes sum[kBlocks] = {};
  for (int64_t d = 0; d < head_dim; ++d) {
    for (int b = 0; b < kBlocks; ++b) {
      sum[b] += query[d] * *reinterpret_cast<const Lanes*>(keys + (b * head_dim + d) * kLanes);
    }
  }
  for (int b = 0; b < kBlocks; ++b) *reinterpret_cast<Lanes*>(scores + b * kLanes) = sum[b] * scale;
}

// kBlocks * 16 columns of sum_j weights[j] * values[j, :].
template <int kBlocks>
inline __attribute__((always_inline)) void mix_blocks(const float* weights, const float* values,
                                                      int64_t value_stride, int64_t length,
                                                      float scale, float* out) {
  Lanes sum[kBlocks] = {};
  for (int64_t j = 0; j < length; ++j) {
    for (int b = 0; b < kBlocks; ++b) {
      sum[b] +=
          weights[j] * *reinterpret_cast<const Lanes*>(values + j * value_stride + b * kLanes);
    }
  }
  for (int b = 0; b < kBlocks; ++b) *reinterpret_cast<Lanes*>(out + b * kLanes) = sum[b] * scale;
}

}  // namespace

EVERY_VECTOR_WIDTH
void rms_norm(const float* x, const float* weight, float eps, int64_t size, float* out) {
  float lanes[kLanes] = {};
  int64_t i = 0;
  for (; i + kLanes <= size; i += kLanes) {
    for (int64_t t = 0; t < kLanes; ++t) lanes[t] += x[i + t] * x[i + t];
  }
  for (int64_t t = 0; i + t < size; ++t) lanes[t] += x[i + t] * x[i + t];
  const float scale = 1.f / std::sqrt(sum_of_lanes(lanes) / static_cast<float>(size) + eps);
  for (int64_t j = 0; j < size; ++j) out[j] = weight[j] * (x[j] * scale);
}

EVERY_VECTOR_WIDTH
void rotate(float* head, const float* cosines, const float* sines, int64_t head_dim) {
  const int64_t half = head_dim / 2;
  for (int64_t i = 0; i < half; ++i) {
    const float x1 = head[i], x2 = head[i + half];
    head[i] = x1 * cosines[i] - x2 * sines[i];
    head[i + half] = x2 * cosines[i] + x1 * sines[i];
  }
}

EVERY_VECTOR_WIDTH
void gated_silu(const float* gate, const float* up, int64_t size, float* out) {
  for (int64_t i = 0; i < size; ++i) out[i] = gate[i] / (1.f + fast_exp(-gate[i])) * up[i];
}

EVERY_VECTOR_WIDTH
void attend(const float* query, const float* keys, const float* values, int64_t value_stride,
            int64_t length, int64_t head_dim, float* scores, float* out) {
  const float scale = 1.f / std::sqrt(static_cast<float>(head_dim));
  const int64_t blocks = (length + kLanes - 1) / kLanes;
  const auto scores_from = [&](auto count, int64_t b) __attribute__((always_inline)) {
    score_blocks<count()>(query, keys + b * head_dim * kLanes, head_dim, scale,
                          scores + b * kLanes);
  };
  int64_t b = 0;
  for (; b + 4 <= blocks; b += 4) scores_from(std::integral_constant<int, 4>(), b);
  for (; b < blocks; ++b) scores_from(std::integral_constant<int, 1>(), b);

  float largest = scores[0];
  for (int64_t j = 0; j < length; ++j) largest = std::max(largest, scores[j]);
  // What lies past the end becomes e^-87, which no sum that holds a 1 can see.
  for (int64_t j = length; j < blocks * kLanes; ++j) scores[j] = largest - 87.f;
  float lanes[kLanes] = {};
  for (int64_t j = 0; j < blocks * kLanes; j += kLanes) {
    for (int64_t t = 0; t < kLanes; ++t) {
      scores[j + t] = fast_exp(scores[j + t] - largest);
      lanes[t] += scores[j + t];
    }
  }
  const float normal = 1.f / sum_of_lanes(lanes);
  int64_t d = 0;
  float mixed[4 * kLanes];
  for (; d + 4 * kLanes <= head_dim; d += 4 * kLanes) {
    mix_blocks<4>(scores, values + d, value_stride, length, normal, out + d);
  }
  for (; d < head_dim; d += kLanes) {
    mix_blocks<1>(scores, values + d, value_stride, length, normal, mixed);
    std::memcpy(out + d, mixed, std::min(kLanes, head_dim - d) * sizeof(float));
  }
}

EVERY_VECTOR_WIDTH
void to_bf16(const float* x, int64_t size, uint16_t* out) {
  for (int64_t i = 0; i < size; ++i) {
    const auto bits = std::bit_cast<uint32_t>(x[i]);
    const uint32_t rounded = (bits + 0x7fff + ((bits >> 16) & 1)) >> 16;
    const bool is_nan = (bits & 0x7fffffff) > 0x7f800000;
    out[i] = static_cast<uint16_t>(is_nan ? 0x7fc0 : rounded);
  }
}

EVERY_VECTOR_WIDTH
int64_t argmax(const float* x, int64_t size) {
  // First the value, in lanes; then its place. `!(a <= b)` lets NaN win.
  float lanes[kLanes];
  std::fill(lanes, lanes + kLanes, -INFINITY);
  int64_t i = 0;
  for (; i + kLanes <= size; i += kLanes) {
    for (int64_t t = 0; t < kLanes; ++t) lanes[t] = !(x[i + t] <= lanes[t]) ? x[i + t] : lanes[t];
  }
  float largest = -INFINITY;
  for (int64_t t = 0; t < kLanes; ++t) largest = !(lanes[t] <= largest) ? lanes[t] : largest;
  for (; i < size; ++i) largest = !(x[i] <= largest) ? x[i] : largest;
  for (int64_t j = 0; j < size; ++j) {
    if (!(x[j] < largest)) return j;
  }
  return 0;
}

EVERY_VECTOR_WIDTH
int64_t sample(const float* x, int64_t size, float largest, double temperature, double u) {
  // Sums of blocks first, then a walk through one block: the weights are never stored.
  constexpr int64_t kBlock = 256;
  const auto inverse = static_cast<float>(1 / temperature);
  std::vector<double> sums;
  double total = 0;
  for (int64_t begin = 0; begin < size; begin += kBlock) {
    float lanes[kLanes] = {};
    const int64_t end = std::min(begin + kBlock, size);
    int64_t i = begin;
    for (; i + kLanes <= end; i += kLanes) {
      for (int64_t t = 0; t < kLanes; ++t) lanes[t] += fast_exp((x[i + t] - largest) * inverse);
    }
    for (int64_t t = 0; i + t < end; ++t) lanes[t] += fast_exp((x[i + t] - largest) * inverse);
    sums.push_back(sum_of_lanes(lanes));
    total += sums.back();
  }
  double left = u * total;
  size_t block = 0;
  while (block + 1 < sums.size() && left >= sums[block]) left -= sums[block++];
  const int64_t begin = static_cast<int64_t>(block) * kBlock, end = std::min(begin + kBlock, size);
  int64_t last = begin;
  for (int64_t i = begin; i < end; ++i) {
    const double weight = fast_exp((x[i] - largest) * inverse);
    if (weight > 0) last = i;
    if (left < weight) return i;
    left -= weight;
  }
  return last;  // rounding: u was within an ulp of the block's end
}

}  // namespace draftlab

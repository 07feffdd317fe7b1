#pragma once

#include <cstdint>

namespace draftlab {

// The parts of a decoder that are not matrix products, on plain float32 rows, one thread each.
// Every sum has a fixed order, so the vector width of the machine does not change a bit.

// out[i] = weight[i] * x[i] / sqrt(mean(x^2) + eps), i < size. `out` may be `x`.
void rms_norm(const float* x, const float* weight, float eps, int64_t size, float* out);

// Rotary position embedding in the half-rotation layout, in place: (x1, x2) -> (x1 c - x2 s, x2 c +
// x1 s) with x1, x2 the halves of one head and c, s [head_dim / 2] of its position.
void rotate(float* head, const float* cosines, const float* sines, int64_t head_dim);

// out[i] = gate[i] / (1 + exp(-gate[i])) * up[i]
void gated_silu(const float* gate, const float* up, int64_t size, float* out);

// Attention of one query head over `length` positions of one head of a KeyValueCache:
// out = softmax(q.k / sqrt(head_dim)) v. `scores` is scratch for length rounded up to 16.
void attend(const float* query, const float* keys, const float* values, int64_t value_stride,
            int64_t length, int64_t head_dim, float* scores, float* out);

// Round to nearest even; NaN stays NaN. size floats to bf16 bits.
void to_bf16(const float* x, int64_t size, uint16_t* out);

// The index of the largest value, the first of equal ones. NaN counts as larger than everything, so
// that it comes out and is seen.
int64_t argmax(const float* x, int64_t size);

// The i for which sum_{j<=i} p_j first exceeds u, p = softmax(x / temperature): one draw for u
// uniform in [0, 1). REQUIRES: temperature > 0, largest = max(x).
int64_t sample(const float* x, int64_t size, float largest, double temperature, double u);

}  // namespace draftlab

#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

namespace draftlab {

// cos and sin of position * theta^(-2j/n), [positions, n/2] for 0 <= j < n/2, computed in float64
// and then rounded to the dtype.
struct RotaryTable {
  at::Tensor cos, sin;
};
RotaryTable rotary_table(int64_t positions, int64_t head_dim, double theta,
                         const at::TensorOptions& options);

// Rotary position embedding in the half-rotation layout ("NeoX"), over the whole head, in place:
//   (x1, x2) -> (x1 cos - x2 sin, x2 cos + x1 sin),  x1 and x2 the halves of a head.
// x [R, heads, n]; positions[R] below the table's length. `inverse` turns backwards, which is also
// the gradient of the forward turn. Deterministic.
void rotary(const at::Tensor& x, const std::vector<int64_t>& positions, const RotaryTable& table,
            bool inverse);

// The same by ATen alone: the specification, and what devices without a kernel run.
void plain_rotary(const at::Tensor& x, const std::vector<int64_t>& positions,
                  const RotaryTable& table, bool inverse);

}  // namespace draftlab

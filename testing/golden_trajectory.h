#pragma once

#include <ATen/ATen.h>

#include <string>

#include "base/json.h"
#include "source_dir.h"

namespace draftlab {

// Reads tests/golden/optimizers.json for the tests: W0 and three steps of every optimizer in
// float64.

inline const Json& golden_trajectories() {
  static const Json golden = read_json(DRAFTLAB_SOURCE_DIR "/tests/golden/optimizers.json");
  return golden;
}

// A list of numbers in row order as a float64 matrix.
inline at::Tensor golden_matrix(const Json& values, int64_t rows, int64_t cols) {
  at::Tensor x = at::empty({rows, cols}, at::kDouble);
  double* to = x.mutable_data_ptr<double>();
  for (const Json& value : values.as_array()) *to++ = json_number(value, "golden");
  return x;
}

// G_t[i][j] = hash257(i + 5t, j + 3t) of step t = 0, 1, 2.
inline at::Tensor golden_gradient(int64_t rows, int64_t cols, int64_t t) {
  at::Tensor g = at::empty({rows, cols}, at::kDouble);
  double* to = g.mutable_data_ptr<double>();
  for (int64_t i = 5 * t; i < rows + 5 * t; ++i) {
    for (int64_t j = 3 * t; j < cols + 3 * t; ++j) {
      *to++ = static_cast<double>(
                  (31 * i * i + 17 * j * j + 53 * i * j + 7 * i + 11 * j + 3) % 257 - 128) /
              128;
    }
  }
  return g;
}

inline double largest_difference(const at::Tensor& a, const at::Tensor& b) {
  return (a - b).abs().max().item<double>();
}

}  // namespace draftlab

#include "kernels/rotary.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>

#include <cmath>

#include "kernels/lanes.h"
#include "kernels/placement.h"

namespace draftlab {
namespace {

template <typename T>
DRAFTLAB_INLINE void turn_of(T* head, const T* cos, const T* sin, int64_t half, T sign) {
  T* second = head + half;
  for (int64_t j = 0; j < half; ++j) {
    const T x1 = head[j], x2 = second[j], c = cos[j], s = sign * sin[j];
    head[j] = x1 * c - x2 * s;
    second[j] = x2 * c + x1 * s;
  }
}
DRAFTLAB_CLONES void turn(float* head, const float* cos, const float* sin, int64_t half,
                          float sign) {
  turn_of(head, cos, sin, half, sign);
}
DRAFTLAB_CLONES void turn(double* head, const double* cos, const double* sin, int64_t half,
                          double sign) {
  turn_of(head, cos, sin, half, sign);
}

}  // namespace

RotaryTable rotary_table(int64_t positions, int64_t head_dim, double theta,
                         const at::TensorOptions& options) {
  at::Tensor cos = at::empty({positions, head_dim / 2}, at::kDouble);
  at::Tensor sin = at::empty_like(cos);
  double* c = cos.data_ptr<double>();
  double* s = sin.data_ptr<double>();
  for (int64_t j = 0; j < head_dim / 2; ++j) {
    const double frequency =
        std::pow(theta, -2 * static_cast<double>(j) / static_cast<double>(head_dim));
    for (int64_t p = 0; p < positions; ++p) {
      c[p * (head_dim / 2) + j] = std::cos(static_cast<double>(p) * frequency);
      s[p * (head_dim / 2) + j] = std::sin(static_cast<double>(p) * frequency);
    }
  }
  return {cos.to(options), sin.to(options)};
}

void plain_rotary(const at::Tensor& x, const std::vector<int64_t>& positions,
                  const RotaryTable& table, bool inverse) {
  const at::Tensor index = at::tensor(positions, at::kLong).to(x.device());
  const at::Tensor cos = table.cos.index_select(0, index).unsqueeze(1);  // [R, 1, n/2]
  at::Tensor sin = table.sin.index_select(0, index).unsqueeze(1);
  if (inverse) sin = -sin;
  const auto halves = x.chunk(2, 2);
  const at::Tensor turned =
      at::cat({halves[0] * cos - halves[1] * sin, halves[1] * cos + halves[0] * sin}, 2);
  x.copy_(turned);
}

void rotary(const at::Tensor& x, const std::vector<int64_t>& positions, const RotaryTable& table,
            bool inverse) {
  if (!plain_memory({x, table.cos, table.sin})) return plain_rotary(x, positions, table, inverse);
  const int64_t heads = x.size(1), n = x.size(2), half = n / 2;
  TORCH_CHECK(x.size(0) == static_cast<int64_t>(positions.size()) && table.cos.size(1) == half,
              "rotary: shapes do not fit");
  for (int64_t position : positions)
    TORCH_CHECK(position >= 0 && position < table.cos.size(0), "rotary: position ", position,
                " is not in the table of ", table.cos.size(0));
  AT_DISPATCH_FLOATING_TYPES(x.scalar_type(), "rotary", [&] {
    const scalar_t* cos = table.cos.const_data_ptr<scalar_t>();
    const scalar_t* sin = table.sin.const_data_ptr<scalar_t>();
    scalar_t* rows = x.data_ptr<scalar_t>();
    at::parallel_for(0, x.size(0), rows_per_task(heads * n), [&](int64_t begin, int64_t end) {
      for (int64_t r = begin; r < end; ++r)
        for (int64_t h = 0; h < heads; ++h)
          turn(rows + (r * heads + h) * n, cos + positions[r] * half, sin + positions[r] * half,
               half, inverse ? scalar_t(-1) : scalar_t(1));
    });
  });
}

}  // namespace draftlab

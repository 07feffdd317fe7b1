#include "kernels/causal_convolution.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>

#include <algorithm>
#include <vector>

#include "kernels/lanes.h"
#include "kernels/placement.h"

namespace draftlab {
namespace {

constexpr int64_t kNoRow = -1;

// taps [rows, K]: which row each tap of each row sees; kNoRow where it is 0. A row whose own tap,
// the last, is missing belongs to a padding block.
std::vector<int64_t> make_taps(const BlockLayout& layout, int64_t width) {
  const int64_t context = layout.context_rows(), size = layout.block_size;
  std::vector<int64_t> taps((context + layout.query_rows()) * width, kNoRow);
  int64_t* row = taps.data();
  for (size_t s = 0; s + 1 < layout.sequence_begin.size(); ++s) {
    const int64_t begin = layout.sequence_begin[s];
    for (int64_t t = begin; t < layout.sequence_begin[s + 1]; ++t, row += width)
      for (int64_t j = std::max<int64_t>(0, width - 1 - (t - begin)); j < width; ++j)
        row[j] = t - (width - 1) + j;
  }
  for (size_t n = 0; n < layout.block_anchor.size(); ++n) {
    const int64_t s = layout.block_sequence[n], anchor = layout.block_anchor[n];
    TORCH_CHECK(anchor <= layout.sequence_begin[s + 1] - layout.sequence_begin[s],
                "causal_convolution: anchor ", anchor, " lies behind the end of sequence ", s);
    for (int64_t o = 0; o < size; ++o, row += width) {
      for (int64_t j = 0; anchor >= 0 && j < width; ++j) {
        const int64_t slot = o - (width - 1) + j;
        if (slot >= 0) {
          row[j] = context + static_cast<int64_t>(n) * size + slot;
        } else if (anchor + slot >= 0) {
          row[j] = layout.sequence_begin[s] + anchor + slot;
        }
      }
    }
  }
  return taps;
}

// Channels that are worked on together: a few rows of them stay in the fastest cache.
constexpr int64_t kStrip = 256;

// Some channels of x: n of them, at most kStrip, in rows that lie `stride` apart. Weights [K,
// kStrip].
template <typename T>
struct Strip {
  const T* x;
  int64_t stride;
  const T* weight;
  int64_t width;  // K
  int64_t n;

  // p [n] of the row with these taps
  DRAFTLAB_INLINE void convolve(const int64_t* taps, T* p) const {
    for (int64_t c = 0; c < n; ++c) p[c] = 0;
    for (int64_t j = 0; j < width; ++j) {
      if (taps[j] == kNoRow) continue;
      const T *seen = x + taps[j] * stride, *w = weight + j * kStrip;
#pragma GCC ivdep
      for (int64_t c = 0; c < n; ++c) p[c] += w[c] * seen[c];
    }
  }
};

// Rows [begin, end) of y, which lie `stride` apart.
template <typename T>
DRAFTLAB_INLINE void forward_of(const Strip<T>& strip, const int64_t* taps, int64_t begin,
                                int64_t end, T* y, int64_t stride) {
  for (int64_t r = begin; r < end; ++r) {
    T p[kStrip];
    T* to = y + r * stride;
    strip.convolve(taps + r * strip.width, p);
    for (int64_t c = 0; c < strip.n; ++c) to[c] = p[c] * sigmoid(p[c]);
  }
}

// What rows [begin, end) add to dx and to d_weight [K, kStrip].
template <typename T>
DRAFTLAB_INLINE void backward_of(const Strip<T>& strip, const int64_t* taps, int64_t begin,
                                 int64_t end, const T* dy, int64_t dy_stride, T* dx,
                                 int64_t dx_stride, T* d_weight) {
  for (int64_t r = begin; r < end; ++r) {
    const int64_t* seen_rows = taps + r * strip.width;
    if (seen_rows[strip.width - 1] == kNoRow) continue;
    T p[kStrip];
    strip.convolve(seen_rows, p);
    const T* d = dy + r * dy_stride;
    for (int64_t c = 0; c < strip.n; ++c) {
      const T s = sigmoid(p[c]);
      p[c] = d[c] * s * (1 + p[c] * (1 - s));
    }
    for (int64_t j = 0; j < strip.width; ++j) {
      if (seen_rows[j] == kNoRow) continue;
      const T *seen = strip.x + seen_rows[j] * strip.stride, *w = strip.weight + j * kStrip;
      T *to_seen = dx + seen_rows[j] * dx_stride, *to_w = d_weight + j * kStrip;
#pragma GCC ivdep
      for (int64_t c = 0; c < strip.n; ++c) {
        to_seen[c] += w[c] * p[c];
        to_w[c] += seen[c] * p[c];
      }
    }
  }
}

DRAFTLAB_CLONES void forward(const Strip<float>& strip, const int64_t* taps, int64_t begin,
                             int64_t end, float* y, int64_t stride) {
  forward_of(strip, taps, begin, end, y, stride);
}
DRAFTLAB_CLONES void forward(const Strip<double>& strip, const int64_t* taps, int64_t begin,
                             int64_t end, double* y, int64_t stride) {
  forward_of(strip, taps, begin, end, y, stride);
}
DRAFTLAB_CLONES void backward(const Strip<float>& strip, const int64_t* taps, int64_t begin,
                              int64_t end, const float* dy, int64_t dy_stride, float* dx,
                              int64_t dx_stride, float* d_weight) {
  backward_of(strip, taps, begin, end, dy, dy_stride, dx, dx_stride, d_weight);
}
DRAFTLAB_CLONES void backward(const Strip<double>& strip, const int64_t* taps, int64_t begin,
                              int64_t end, const double* dy, int64_t dy_stride, double* dx,
                              int64_t dx_stride, double* d_weight) {
  backward_of(strip, taps, begin, end, dy, dy_stride, dx, dx_stride, d_weight);
}

// The weights strip by strip, each [K, kStrip].
template <typename T>
std::vector<T> by_strip(const at::Tensor& weight) {
  const int64_t channels = weight.size(0), width = weight.size(1);
  const T* w = weight.const_data_ptr<T>();
  std::vector<T> strips((channels + kStrip - 1) / kStrip * kStrip * width, 0);
  for (int64_t c = 0; c < channels; ++c)
    for (int64_t j = 0; j < width; ++j)
      strips[c / kStrip * kStrip * width + j * kStrip + c % kStrip] = w[c * width + j];
  return strips;
}

template <typename T>
Strip<T> make_strip(const at::Tensor& x, const std::vector<T>& weights, int64_t width,
                    int64_t index) {
  const int64_t first = index * kStrip;
  return {x.const_data_ptr<T>() + first, x.stride(0), weights.data() + first * width, width,
          std::min(kStrip, x.size(1) - first)};
}

void check_shapes(const at::Tensor& x, const at::Tensor& weight, const BlockLayout& layout,
                  const at::Tensor& y) {
  TORCH_CHECK(x.size(0) == layout.context_rows() + layout.query_rows() && weight.dim() == 2 &&
                  x.size(1) == weight.size(0) && weight.size(1) > 0 && y.sizes() == x.sizes(),
              "causal_convolution: shapes do not fit");
}

// The rows that tap j of every row sees, a row of zeros where there is none: [rows, D].
at::Tensor seen_by(const at::Tensor& x, const std::vector<int64_t>& taps, int64_t width,
                   int64_t j) {
  const at::Tensor rows = at::tensor(taps, at::kLong).view({-1, width}).select(1, j);
  const at::Tensor index = rows.clamp_min(0).to(x.device());
  return x.index_select(0, index) * rows.ge(0).to(x.device()).to(x.scalar_type()).unsqueeze(1);
}

at::Tensor plain_convolve(const at::Tensor& x, const at::Tensor& weight,
                          const std::vector<int64_t>& taps) {
  at::Tensor p = at::zeros_like(x);
  for (int64_t j = 0; j < weight.size(1); ++j)
    p = p + weight.select(1, j) * seen_by(x, taps, weight.size(1), j);
  return p;
}

}  // namespace

void plain_causal_convolution(const at::Tensor& x, const at::Tensor& weight,
                              const BlockLayout& layout, const at::Tensor& y) {
  check_shapes(x, weight, layout, y);
  const at::Tensor p = plain_convolve(x, weight, make_taps(layout, weight.size(1)));
  y.copy_(p * p.sigmoid());
}

void plain_causal_convolution_backward(const at::Tensor& dy, const at::Tensor& x,
                                       const at::Tensor& weight, const BlockLayout& layout,
                                       const at::Tensor& dx, const at::Tensor& d_weight) {
  check_shapes(x, weight, layout, dy);
  const int64_t width = weight.size(1);
  const std::vector<int64_t> taps = make_taps(layout, width);
  const at::Tensor p = plain_convolve(x, weight, taps), s = p.sigmoid();
  const at::Tensor dp = dy * s * (1 + p * (1 - s));
  dx.zero_();
  const at::Tensor rows = at::tensor(taps, at::kLong).view({-1, width}).to(x.device());
  for (int64_t j = 0; j < width; ++j) {
    const at::Tensor some = rows.select(1, j).ge(0).nonzero().squeeze(1);
    const at::Tensor from = rows.select(1, j).index_select(0, some);
    const at::Tensor d = dp.index_select(0, some);
    dx.index_add_(0, from, d * weight.select(1, j));
    d_weight.select(1, j).copy_((d * x.index_select(0, from)).sum(0));
  }
}

void causal_convolution(const at::Tensor& x, const at::Tensor& weight, const BlockLayout& layout,
                        const at::Tensor& y) {
  if (!plain_rows({x, y}) || !plain_memory({weight})) {
    return plain_causal_convolution(x, weight, layout, y);
  }
  check_shapes(x, weight, layout, y);
  const int64_t width = weight.size(1), strips = (x.size(1) + kStrip - 1) / kStrip;
  const std::vector<int64_t> taps = make_taps(layout, width);
  AT_DISPATCH_FLOATING_TYPES(x.scalar_type(), "causal_convolution", [&] {
    const std::vector<scalar_t> weights = by_strip<scalar_t>(weight);
    at::parallel_for(0, x.size(0), rows_per_task(x.size(1)), [&](int64_t begin, int64_t end) {
      for (int64_t i = 0; i < strips; ++i)
        forward(make_strip(x, weights, width, i), taps.data(), begin, end,
                y.data_ptr<scalar_t>() + i * kStrip, y.stride(0));
    });
  });
}

void causal_convolution_backward(const at::Tensor& dy, const at::Tensor& x,
                                 const at::Tensor& weight, const BlockLayout& layout,
                                 const at::Tensor& dx, const at::Tensor& d_weight) {
  if (!plain_rows({dy, x, dx}) || !plain_memory({weight, d_weight})) {
    return plain_causal_convolution_backward(dy, x, weight, layout, dx, d_weight);
  }
  check_shapes(x, weight, layout, dy);
  check_shapes(dx, d_weight, layout, dy);
  const int64_t width = weight.size(1), strips = (x.size(1) + kStrip - 1) / kStrip;
  const int64_t context = layout.context_rows(), size = layout.block_size;
  const int64_t sequences = static_cast<int64_t>(layout.sequence_begin.size()) - 1;
  const std::vector<int64_t> taps = make_taps(layout, width);
  AT_DISPATCH_FLOATING_TYPES(x.scalar_type(), "causal_convolution_backward", [&] {
    const std::vector<scalar_t> weights = by_strip<scalar_t>(weight);
    // The rows of a sequence and its blocks see no others. Each adds to sums of its own, which are
    // added up in order, so that bits do not depend on the number of threads.
    const int64_t numbers = static_cast<int64_t>(weights.size());
    std::vector<scalar_t> sums(std::max<int64_t>(sequences, 1) * numbers, 0);
    at::parallel_for(0, sequences * strips, 1, [&](int64_t first, int64_t last) {
      for (int64_t task = first; task < last; ++task) {
        const int64_t s = task / strips, i = task % strips;
        const Strip<scalar_t> strip = make_strip(x, weights, width, i);
        const auto [block, behind] =
            std::equal_range(layout.block_sequence.begin(), layout.block_sequence.end(), s);
        const int64_t blocks_begin = context + (block - layout.block_sequence.begin()) * size;
        const int64_t blocks_end = context + (behind - layout.block_sequence.begin()) * size;
        const std::pair<int64_t, int64_t> parts[] = {
            {layout.sequence_begin[s], layout.sequence_begin[s + 1]}, {blocks_begin, blocks_end}};
        scalar_t* to_x = dx.data_ptr<scalar_t>() + i * kStrip;
        for (const auto& [begin, end] : parts)
          for (int64_t r = begin; r < end; ++r)
            std::fill_n(to_x + r * dx.stride(0), strip.n, scalar_t(0));
        for (const auto& [begin, end] : parts)
          backward(strip, taps.data(), begin, end, dy.const_data_ptr<scalar_t>() + i * kStrip,
                   dy.stride(0), to_x, dx.stride(0),
                   sums.data() + s * numbers + i * kStrip * width);
      }
    });
    for (int64_t s = 1; s < sequences; ++s)
      for (int64_t i = 0; i < numbers; ++i) sums[i] += sums[s * numbers + i];
    scalar_t* to_weight = d_weight.data_ptr<scalar_t>();
    for (int64_t c = 0; c < x.size(1); ++c)
      for (int64_t j = 0; j < width; ++j)
        to_weight[c * width + j] = sums[c / kStrip * kStrip * width + j * kStrip + c % kStrip];
  });
}

}  // namespace draftlab

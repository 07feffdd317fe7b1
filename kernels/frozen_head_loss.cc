#include "kernels/frozen_head_loss.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <vector>

#include "kernels/gemm.h"
#include "kernels/lanes.h"
#include "kernels/placement.h"

namespace draftlab {
namespace {

// Chunk of the vocabulary and tile of rows: their logits (half a megabyte of floats) stay in a
// core's cache together with the chunk of the head.
constexpr int64_t kChunk = 256;
constexpr int64_t kTileRows = 512;

// Splits rows evenly into tiles, as many for each thread, none above kTileRows.
int64_t rows_per_tile(int64_t rows) {
  const int64_t threads = at::get_num_threads();
  const int64_t tiles = threads * ((rows + threads * kTileRows - 1) / (threads * kTileRows));
  return (rows + tiles - 1) / tiles;
}

template <typename T>
void scale_row(T* row, int64_t n, T factor) {
  for (int64_t i = 0; i < n; ++i) row[i] *= factor;
}

template <typename T>
bool any_above(const T* row, T limit) {
  unsigned any = 0;
  for (int l = 0; l < kLanes; ++l) any |= row[l] > limit;
  return any != 0;
}

// Takes the logits of a chunk into the falling list of the k largest so far; ids rise, so that an
// equal one goes behind.
template <typename T>
void keep_largest(const T* row, int64_t columns, int64_t first, int64_t k, T* values,
                  int64_t* ids) {
  for (int64_t c = 0; c < columns; ++c) {
    // Most groups have none, and are passed over without a branch for each.
    while (c % kLanes == 0 && c + kLanes <= columns && !any_above(row + c, values[k - 1]))
      c += kLanes;
    if (c >= columns) return;
    if (!(row[c] > values[k - 1])) continue;
    int64_t place = k - 1;
    for (; place > 0 && row[c] > values[place - 1]; --place) {
      values[place] = values[place - 1];
      ids[place] = ids[place - 1];
    }
    values[place] = row[c];
    ids[place] = first + c;
  }
}

// One tile of rows against the whole vocabulary.
template <typename T>
struct Tile {
  const T* hidden;  // [rows, width]
  const T* head;    // [vocabulary, width]
  int64_t rows, width, vocabulary;
  const int64_t* labels;
  double* losses;

  // logits [rows, columns] of the chunk that starts at `first`
  void logits(int64_t first, int64_t columns, T* out) const {
    gemm(false, true, rows, columns, width, T(1), hidden, width, head + first * width, width, T(0),
         out, columns);
  }

  void loss_and_gradient(const double* scales, T* d_hidden) const {
    const auto weights = std::make_unique_for_overwrite<T[]>(rows * kChunk);
    std::vector<T> largest(rows, -std::numeric_limits<T>::infinity()), sum(rows, 0), label(rows, 0);
    for (int64_t first = 0; first < vocabulary; first += kChunk) {
      const int64_t columns = std::min(kChunk, vocabulary - first);
      logits(first, columns, weights.get());
      for (int64_t r = 0; r < rows; ++r) {
        T* row = weights.get() + r * columns;
        if (labels[r] >= first && labels[r] < first + columns) label[r] = row[labels[r] - first];
        const T peak = std::max(largest[r], maximum(row, columns));
        if (peak != largest[r]) {
          const T shrink = exponential(largest[r] - peak);  // 0 at the first chunk
          sum[r] *= shrink;
          if (first > 0) scale_row(d_hidden + r * width, width, shrink);
          largest[r] = peak;
        }
        sum[r] += exponentials(row, columns, peak);
      }
      gemm(false, false, rows, width, columns, T(1), weights.get(), columns, head + first * width,
           width, first == 0 ? T(0) : T(1), d_hidden, width);
    }
    for (int64_t r = 0; r < rows; ++r) {
      losses[r] = static_cast<double>(largest[r]) + std::log(static_cast<double>(sum[r])) -
                  static_cast<double>(label[r]);
      const T scale = static_cast<T>(scales[r]), mean = scale / sum[r];
      const T* target = head + labels[r] * width;
      T* gradient = d_hidden + r * width;
      for (int64_t i = 0; i < width; ++i) gradient[i] = gradient[i] * mean - target[i] * scale;
    }
  }

  void log_sums(double* sums) const {
    const auto chunk = std::make_unique_for_overwrite<T[]>(rows * kChunk);
    std::vector<T> largest(rows, -std::numeric_limits<T>::infinity()), sum(rows, 0);
    for (int64_t first = 0; first < vocabulary; first += kChunk) {
      const int64_t columns = std::min(kChunk, vocabulary - first);
      logits(first, columns, chunk.get());
      for (int64_t r = 0; r < rows; ++r) {
        T* row = chunk.get() + r * columns;
        const T peak = std::max(largest[r], maximum(row, columns));
        if (peak != largest[r]) sum[r] *= exponential(largest[r] - peak);
        largest[r] = peak;
        sum[r] += exponentials(row, columns, peak);
      }
    }
    for (int64_t r = 0; r < rows; ++r)
      sums[r] = static_cast<double>(largest[r]) + std::log(static_cast<double>(sum[r]));
  }

  // `ids`, `log_probabilities` [rows, k]; the latter may be null.
  void loss_and_top(int64_t k, int64_t* ids, double* log_probabilities) const {
    constexpr T kLowest = -std::numeric_limits<T>::infinity();
    const auto chunk = std::make_unique_for_overwrite<T[]>(rows * kChunk);
    std::vector<T> largest(rows, kLowest), sum(rows, 0), label(rows, 0), values(rows * k, kLowest);
    std::fill_n(ids, rows * k, -1);
    for (int64_t first = 0; first < vocabulary; first += kChunk) {
      const int64_t columns = std::min(kChunk, vocabulary - first);
      logits(first, columns, chunk.get());
      for (int64_t r = 0; r < rows; ++r) {
        T* row = chunk.get() + r * columns;
        if (labels[r] >= first && labels[r] < first + columns) label[r] = row[labels[r] - first];
        const T peak = maximum(row, columns);
        if (peak > values[r * k + k - 1])
          keep_largest(row, columns, first, k, &values[r * k], ids + r * k);
        if (peak > largest[r]) {
          sum[r] *= exponential(largest[r] - peak);
          largest[r] = peak;
        }
        sum[r] += exponentials(row, columns, largest[r]);
      }
    }
    for (int64_t r = 0; r < rows; ++r) {
      const double log_sum =
          static_cast<double>(largest[r]) + std::log(static_cast<double>(sum[r]));
      losses[r] = labels[r] < 0 ? 0.0 : log_sum - static_cast<double>(label[r]);
      for (int64_t i = r * k; log_probabilities != nullptr && i < (r + 1) * k; ++i)
        log_probabilities[i] = static_cast<double>(values[i]) - log_sum;
    }
  }
};

// Calls visit(tile, its first row) for all tiles, side by side.
template <typename T, typename Visit>
void for_each_tile(const at::Tensor& hidden, const at::Tensor& head,
                   std::span<const int64_t> labels, std::span<double> losses, const Visit& visit) {
  const int64_t rows = hidden.size(0), width = hidden.size(1);
  if (rows == 0) return;
  const int64_t step = rows_per_tile(rows);
  at::parallel_for(0, (rows + step - 1) / step, 1, [&](int64_t first, int64_t last) {
    for (int64_t begin = first * step; begin < std::min(last * step, rows); begin += step) {
      const Tile<T> tile = {hidden.const_data_ptr<T>() + begin * width,
                            head.const_data_ptr<T>(),
                            std::min(step, rows - begin),
                            width,
                            head.size(0),
                            labels.empty() ? nullptr : labels.data() + begin,
                            losses.empty() ? nullptr : losses.data() + begin};
      visit(tile, begin);
    }
  });
}

void check_shapes(const at::Tensor& hidden, const at::Tensor& head, std::span<const int64_t> labels,
                  std::span<double> losses, int64_t lowest) {
  const size_t rows = hidden.size(0);
  TORCH_CHECK(head.size(1) == hidden.size(1) && labels.size() == rows && losses.size() == rows,
              "frozen_head_loss: shapes do not fit");
  for (int64_t label : labels)
    TORCH_CHECK(label >= lowest && label < head.size(0), "frozen_head_loss: label ", label,
                " is not a row of the head of ", head.size(0));
}

void check_top(const at::Tensor& hidden, const FrozenHeadTop& top) {
  const size_t count = hidden.size(0) * top.k;
  TORCH_CHECK(top.k > 0 && top.ids.size() == count &&
                  (top.log_probabilities.empty() || top.log_probabilities.size() == count),
              "frozen_head_top: shapes do not fit");
}

// Rows whose logits the plain version holds at once.
int64_t plain_rows(const at::Tensor& head) {
  return std::max<int64_t>(1, (1 << 24) / head.size(0));
}

template <typename T>
at::Tensor column(std::span<const T> values, int64_t begin, int64_t end, const at::Tensor& like) {
  return at::tensor(at::ArrayRef<T>(values.data() + begin, end - begin)).to(like.device());
}

void copy_to(std::span<double> losses, int64_t begin, const at::Tensor& values) {
  const at::Tensor on_cpu = values.to(at::kCPU, at::kDouble).contiguous();
  std::copy_n(on_cpu.const_data_ptr<double>(), on_cpu.numel(), losses.begin() + begin);
}

}  // namespace

void plain_frozen_head_loss(const at::Tensor& hidden, const at::Tensor& head,
                            std::span<const int64_t> labels, std::span<const double> scales,
                            std::span<double> losses, const at::Tensor& d_hidden) {
  check_shapes(hidden, head, labels, losses, 0);
  for (int64_t begin = 0; begin < hidden.size(0); begin += plain_rows(head)) {
    const int64_t end = std::min(hidden.size(0), begin + plain_rows(head));
    const at::Tensor logits = hidden.slice(0, begin, end).matmul(head.t());
    const at::Tensor label = column(labels, begin, end, hidden);
    const at::Tensor scale = column(scales, begin, end, hidden).to(hidden.dtype()).unsqueeze(1);
    const at::Tensor log_p = logits.log_softmax(1);
    copy_to(losses, begin, -log_p.gather(1, label.unsqueeze(1)).squeeze(1));
    d_hidden.slice(0, begin, end)
        .copy_(scale * (log_p.exp().matmul(head) - head.index_select(0, label)));
  }
}

void plain_frozen_head_top(const at::Tensor& hidden, const at::Tensor& head,
                           std::span<const int64_t> labels, std::span<double> losses,
                           const FrozenHeadTop& top) {
  check_shapes(hidden, head, labels, losses, -1);
  check_top(hidden, top);
  constexpr double kLowest = -std::numeric_limits<double>::infinity();
  const int64_t vocabulary = head.size(0);
  const at::Tensor ids = at::arange(vocabulary, hidden.options().dtype(at::kLong));
  for (int64_t begin = 0; begin < hidden.size(0); begin += plain_rows(head)) {
    const int64_t end = std::min(hidden.size(0), begin + plain_rows(head));
    at::Tensor logits = hidden.slice(0, begin, end).matmul(head.t());
    const at::Tensor label = column(labels, begin, end, hidden).unsqueeze(1);
    const at::Tensor log_sums = logits.logsumexp(1, /*keepdim=*/true);
    const at::Tensor loss = log_sums - logits.gather(1, label.clamp_min(0));
    copy_to(losses, begin, loss.masked_fill(label < 0, 0).squeeze(1));
    logits.masked_fill_(logits.isnan(), kLowest);
    std::vector<at::Tensor> best, log_probabilities;
    for (int64_t i = 0; i < top.k; ++i) {  // finds the largest, and takes it out
      const at::Tensor peak = logits.amax(1, /*keepdim=*/true);
      const at::Tensor id = at::where(logits == peak, ids, vocabulary).amin(1, /*keepdim=*/true);
      best.push_back(id.masked_fill(peak == kLowest, -1));
      log_probabilities.push_back(peak - log_sums);
      logits.scatter_(1, id, kLowest);
    }
    const at::Tensor found = at::cat(best, 1).to(at::kCPU, at::kLong).contiguous();
    std::copy_n(found.const_data_ptr<int64_t>(), found.numel(), top.ids.begin() + begin * top.k);
    if (!top.log_probabilities.empty())
      copy_to(top.log_probabilities, begin * top.k, at::cat(log_probabilities, 1));
  }
}

std::vector<double> plain_frozen_head_log_sums(const at::Tensor& hidden, const at::Tensor& head) {
  std::vector<double> sums(hidden.size(0));
  for (int64_t begin = 0; begin < hidden.size(0); begin += plain_rows(head)) {
    const int64_t end = std::min(hidden.size(0), begin + plain_rows(head));
    copy_to(sums, begin, hidden.slice(0, begin, end).matmul(head.t()).logsumexp(1));
  }
  return sums;
}

std::vector<double> frozen_head_log_sums(const at::Tensor& hidden, const at::Tensor& head) {
  if (!plain_memory({hidden, head})) return plain_frozen_head_log_sums(hidden, head);
  std::vector<double> sums(hidden.size(0));
  AT_DISPATCH_FLOATING_TYPES(hidden.scalar_type(), "frozen_head_log_sums", [&] {
    for_each_tile<scalar_t>(hidden, head, {}, {}, [&](const auto& tile, int64_t row) {
      tile.log_sums(sums.data() + row);
    });
  });
  return sums;
}

void frozen_head_loss(const at::Tensor& hidden, const at::Tensor& head,
                      std::span<const int64_t> labels, std::span<const double> scales,
                      std::span<double> losses, const at::Tensor& d_hidden) {
  if (!plain_memory({hidden, head, d_hidden})) {
    return plain_frozen_head_loss(hidden, head, labels, scales, losses, d_hidden);
  }
  check_shapes(hidden, head, labels, losses, 0);
  AT_DISPATCH_FLOATING_TYPES(hidden.scalar_type(), "frozen_head_loss", [&] {
    scalar_t* gradient = d_hidden.data_ptr<scalar_t>();
    for_each_tile<scalar_t>(hidden, head, labels, losses, [&](const auto& tile, int64_t row) {
      tile.loss_and_gradient(scales.data() + row, gradient + row * tile.width);
    });
  });
}

void frozen_head_top(const at::Tensor& hidden, const at::Tensor& head,
                     std::span<const int64_t> labels, std::span<double> losses,
                     const FrozenHeadTop& top) {
  if (!plain_memory({hidden, head}))
    return plain_frozen_head_top(hidden, head, labels, losses, top);
  check_shapes(hidden, head, labels, losses, -1);
  check_top(hidden, top);
  AT_DISPATCH_FLOATING_TYPES(hidden.scalar_type(), "frozen_head_top", [&] {
    for_each_tile<scalar_t>(hidden, head, labels, losses, [&](const auto& tile, int64_t row) {
      double* log_probabilities =
          top.log_probabilities.empty() ? nullptr : top.log_probabilities.data() + row * top.k;
      tile.loss_and_top(top.k, top.ids.data() + row * top.k, log_probabilities);
    });
  });
}

}  // namespace draftlab

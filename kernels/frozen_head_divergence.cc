#include "kernels/frozen_head_divergence.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <vector>

#include "kernels/gemm.h"
#include "kernels/lanes.h"
#include "kernels/placement.h"

namespace draftlab {
namespace {

// Of the logits of one tile: enough rows for the matrix products to be quick.
constexpr int64_t kTileBytes = 24 << 20, kMostTileRows = 512;

// Splits rows evenly into tiles, as many for each thread.
int64_t rows_per_tile(int64_t rows, int64_t row_bytes) {
  const int64_t most = std::clamp<int64_t>(kTileBytes / row_bytes, 1, kMostTileRows);
  const int64_t threads = at::get_num_threads();
  const int64_t tiles = threads * ((rows + threads * most - 1) / (threads * most));
  return (rows + tiles - 1) / tiles;
}

// log_p[i] = logits[i] - log_sum, which may be the same memory; p[i] *= scale
template <typename T>
DRAFTLAB_INLINE void normalize_of(const T* logits, int64_t n, T log_sum, T scale, T* p, T* log_p) {
  for (int64_t i = 0; i < n; ++i) log_p[i] = logits[i] - log_sum;
  for (int64_t i = 0; i < n; ++i) p[i] *= scale;
}
DRAFTLAB_CLONES void normalize(const float* logits, int64_t n, float log_sum, float scale, float* p,
                               float* log_p) {
  normalize_of(logits, n, log_sum, scale, p, log_p);
}
DRAFTLAB_CLONES void normalize(const double* logits, int64_t n, double log_sum, double scale,
                               double* p, double* log_p) {
  normalize_of(logits, n, log_sum, scale, p, log_p);
}

// p and log p of a row of logits.
template <typename T>
void softmax(const T* logits, int64_t n, T* p, T* log_p) {
  std::copy_n(logits, n, p);
  const T largest = maximum(p, n), sum = exponentials(p, n, largest);
  normalize(logits, n, largest + std::log(sum), 1 / sum, p, log_p);
}

// The same where the logarithm of the sum is given.
template <typename T>
void exponential_row(const T* logits, int64_t n, T log_sum, T* p, T* log_p) {
  std::copy_n(logits, n, p);
  exponentials(p, n, log_sum);
  normalize(logits, n, log_sum, T(1), p, log_p);
}

// What one thread works in.
template <typename T>
class Workspace {
 public:
  Workspace(const HeadRows& rows, int64_t tile_rows)
      : rows_(rows),
        width_(rows.hidden.size(1)),
        vocabulary_(rows.head.size(0)),
        target_(std::make_unique_for_overwrite<T[]>(tile_rows * width_)),
        logits_(std::make_unique_for_overwrite<T[]>(tile_rows * vocabulary_)),
        target_logits_(std::make_unique_for_overwrite<T[]>(tile_rows * vocabulary_)),
        scratch_(std::make_unique_for_overwrite<T[]>(4 * vocabulary_)) {}

  // Rows begin..end-1; `d_hidden` is the whole gradient's memory, or null.
  void run(int64_t begin, int64_t end, const RowLoss& loss, std::span<double> losses,
           std::span<double> cross_entropies, T* d_hidden) {
    const T* head = rows_.head.const_data_ptr<T>();
    product(rows_.hidden.const_data_ptr<T>() + begin * width_, end - begin, logits_.get());
    gather_targets(begin, end);
    T *p = scratch_.get(), *log_p = p + vocabulary_, *q = log_p + vocabulary_,
      *log_q = q + vocabulary_;
    const T* target_logits = target_logits_.get();
    for (int64_t r = begin; r < end; ++r) {
      if (r == begin || rows_.target_rows[r] != rows_.target_rows[r - 1]) {
        target_distribution(target_logits, rows_.target_rows[r], p, log_p);
        target_logits += vocabulary_;
      }
      T* logits = logits_.get() + (r - begin) * vocabulary_;
      softmax(logits, vocabulary_, q, log_q);
      const int64_t label = rows_.labels[r];
      losses[r] = loss.row(DistributionRow<T>{vocabulary_, p, log_p, q, log_q, label},
                           d_hidden == nullptr ? nullptr : logits);
      if (!cross_entropies.empty())
        cross_entropies[r] = label < 0 ? 0.0 : -static_cast<double>(log_q[label]);
    }
    if (d_hidden == nullptr) return;
    gemm(false, false, end - begin, width_, vocabulary_, T(1), logits_.get(), vocabulary_, head,
         width_, T(0), d_hidden + begin * width_, width_);
  }

 private:
  // out [rows, V] = hidden [rows, H] . head^T
  void product(const T* hidden, int64_t rows, T* out) const {
    gemm(false, true, rows, vocabulary_, width_, T(1), hidden, width_,
         rows_.head.const_data_ptr<T>(), width_, T(0), out, vocabulary_);
  }

  // Logits of the targets of the tile, one for each run of rows with the same one.
  void gather_targets(int64_t begin, int64_t end) {
    const T* target = rows_.target.const_data_ptr<T>();
    int64_t count = 0;
    for (int64_t r = begin; r < end; ++r) {
      if (r > begin && rows_.target_rows[r] == rows_.target_rows[r - 1]) continue;
      std::copy_n(target + rows_.target_rows[r] * width_, width_, target_.get() + count * width_);
      ++count;
    }
    product(target_.get(), count, target_logits_.get());
  }

  void target_distribution(const T* logits, int64_t target, T* p, T* log_p) const {
    if (rows_.target_log_sums.empty()) return softmax(logits, vocabulary_, p, log_p);
    exponential_row(logits, vocabulary_, static_cast<T>(rows_.target_log_sums[target]), p, log_p);
  }

  const HeadRows& rows_;
  int64_t width_, vocabulary_;
  std::unique_ptr<T[]> target_;                  // [tile rows, H]
  std::unique_ptr<T[]> logits_, target_logits_;  // [tile rows, V]
  std::unique_ptr<T[]> scratch_;                 // p, log p, q, log q of a row
};

void check_shapes(const HeadRows& rows, std::span<double> losses,
                  std::span<double> cross_entropies) {
  const size_t count = rows.hidden.size(0);
  const int64_t width = rows.hidden.size(1), targets = rows.target.size(0);
  TORCH_CHECK(rows.head.size(1) == width && rows.target.size(1) == width &&
                  rows.target_rows.size() == count && rows.labels.size() == count &&
                  losses.size() == count &&
                  (cross_entropies.empty() || cross_entropies.size() == count) &&
                  (rows.target_log_sums.empty() ||
                   static_cast<int64_t>(rows.target_log_sums.size()) == targets),
              "frozen_head_divergence: shapes do not fit");
  for (const int64_t row : rows.target_rows)
    TORCH_CHECK(row >= 0 && row < targets, "frozen_head_divergence: target row ", row, " of ",
                targets);
  for (const int64_t label : rows.labels)
    TORCH_CHECK(label >= -1 && label < rows.head.size(0), "frozen_head_divergence: label ", label,
                " is not a row of the head of ", rows.head.size(0));
}

template <typename Value>
at::Tensor part(std::span<const Value> values, int64_t begin, int64_t end, const at::Tensor& like) {
  return at::tensor(at::ArrayRef<Value>(values.data() + begin, end - begin)).to(like.device());
}

void copy_to(std::span<double> out, int64_t begin, const at::Tensor& values) {
  const at::Tensor on_cpu = values.to(at::kCPU, at::kDouble).contiguous();
  std::copy_n(on_cpu.const_data_ptr<double>(), on_cpu.numel(), out.begin() + begin);
}

}  // namespace

void plain_frozen_head_divergence(const HeadRows& rows, const RowLoss& loss,
                                  std::span<double> losses, std::span<double> cross_entropies,
                                  const at::Tensor& d_hidden) {
  check_shapes(rows, losses, cross_entropies);
  const int64_t count = rows.hidden.size(0);
  const int64_t step = std::max<int64_t>(1, (1 << 24) / rows.head.size(0));
  for (int64_t begin = 0; begin < count; begin += step) {
    const int64_t end = std::min(count, begin + step);
    const at::Tensor targets = part(rows.target_rows, begin, end, rows.target);
    const at::Tensor labels = part(rows.labels, begin, end, rows.hidden);
    const at::Tensor log_q = rows.hidden.slice(0, begin, end).matmul(rows.head.t()).log_softmax(1);
    at::Tensor log_p = rows.target.index_select(0, targets).matmul(rows.head.t());
    if (rows.target_log_sums.empty()) {
      log_p = log_p.log_softmax(1);
    } else {
      const int64_t all = static_cast<int64_t>(rows.target_log_sums.size());
      const at::Tensor sums = part(rows.target_log_sums, 0, all, rows.target).to(log_p.dtype());
      log_p = log_p - sums.index_select(0, targets).unsqueeze(1);
    }
    at::Tensor d_logits;
    copy_to(losses, begin,
            loss.plain(log_p, log_q, labels, d_hidden.defined() ? &d_logits : nullptr));
    if (d_hidden.defined()) d_hidden.slice(0, begin, end).copy_(d_logits.matmul(rows.head));
    if (cross_entropies.empty()) continue;
    const at::Tensor of_label = -log_q.gather(1, labels.clamp_min(0).unsqueeze(1)).squeeze(1);
    copy_to(cross_entropies, begin, of_label.masked_fill(labels < 0, 0));
  }
}

void frozen_head_divergence(const HeadRows& rows, const RowLoss& loss, std::span<double> losses,
                            std::span<double> cross_entropies, const at::Tensor& d_hidden) {
  if (!plain_memory({rows.hidden, rows.head, rows.target}) ||
      (d_hidden.defined() && !plain_memory({d_hidden}))) {
    return plain_frozen_head_divergence(rows, loss, losses, cross_entropies, d_hidden);
  }
  check_shapes(rows, losses, cross_entropies);
  const int64_t count = rows.hidden.size(0);
  if (count == 0) return;
  AT_DISPATCH_FLOATING_TYPES(rows.hidden.scalar_type(), "frozen_head_divergence", [&] {
    scalar_t* gradient = d_hidden.defined() ? d_hidden.data_ptr<scalar_t>() : nullptr;
    const int64_t step =
        rows_per_tile(count, rows.head.size(0) * static_cast<int64_t>(sizeof(scalar_t)));
    at::parallel_for(0, (count + step - 1) / step, 1, [&](int64_t first, int64_t last) {
      Workspace<scalar_t> workspace(rows, step);
      for (int64_t begin = first * step; begin < std::min(last * step, count); begin += step) {
        workspace.run(begin, std::min(begin + step, count), loss, losses, cross_entropies,
                      gradient);
      }
    });
  });
}

}  // namespace draftlab

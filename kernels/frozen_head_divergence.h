#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <span>

namespace draftlab {

// Two distributions of one row over the V rows of a head, each summing to 1 unless said otherwise.
template <typename T>
struct DistributionRow {
  int64_t size;        // V
  const T *p, *log_p;  // [V] the target's
  const T *q, *log_q;  // [V] the drafter's, a softmax of logits
  int64_t label;       // -1: none
};

// A number made of such a row, and its gradient.
class RowLoss {
 public:
  virtual ~RowLoss() = default;

  // Returns the number; unless `d_logits` is null, writes there its gradient [V] for the logits of
  // q.
  virtual double row(const DistributionRow<float>& row, float* d_logits) const = 0;
  virtual double row(const DistributionRow<double>& row, double* d_logits) const = 0;

  // The same of R rows by ATen alone, the specification: log_p, log_q [R, V], labels [R] int64.
  // Returns [R]; unless null, `d_logits` becomes [R, V].
  virtual at::Tensor plain(const at::Tensor& log_p, const at::Tensor& log_q,
                           const at::Tensor& labels, at::Tensor* d_logits) const = 0;
};

// Rows that a frozen head turns into pairs of distributions: row r is
//   q = softmax(hidden[r] . head^T),  p = softmax(target[target_rows[r]] . head^T).
// hidden [M, H], target [U, H], head [V, H] of one floating dtype.
struct HeadRows {
  const at::Tensor &hidden, &head, &target;
  std::span<const int64_t> target_rows;  // [M] in 0..U-1; neighbours with the same one share its p
  std::span<const int64_t> labels;       // [M] in -1..V-1
  // [U] if not empty, p = e^(target . head^T - this) instead, which need not sum to 1: the head may
  // hold a part of the vocabulary that the target's probabilities are of.
  std::span<const double> target_log_sums = {};
};

// losses[r] and, unless d_hidden [M, H] is undefined, d_hidden[r] = d losses[r] / d hidden[r].
// Unless empty, cross_entropies[r] becomes -log q(label), 0 without a label.
//
// The [M, V] logits never exist: tiles of rows (a few megabytes of logits for each thread) are
// made, turned into the gradient of their logits in place, and multiplied with the head: three
// products, and less than three where rows share their p. Deterministic for a number of threads.
void frozen_head_divergence(const HeadRows& rows, const RowLoss& loss, std::span<double> losses,
                            std::span<double> cross_entropies, const at::Tensor& d_hidden);

// The same by ATen alone: the specification, and what devices without a kernel run.
void plain_frozen_head_divergence(const HeadRows& rows, const RowLoss& loss,
                                  std::span<double> losses, std::span<double> cross_entropies,
                                  const at::Tensor& d_hidden);

}  // namespace draftlab

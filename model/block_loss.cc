#include "model/block_loss.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>

#include "kernels/frozen_head_divergence.h"
#include "kernels/frozen_head_loss.h"
#include "model/losses/loss_rule.h"
#include "model/losses/overlap.h"

namespace draftlab {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kLabelFloor = 1e-5;  // speculators adds it to the number of labels

// The weighted sum of the terms of a loss.
class Mixture : public RowLoss {
 public:
  explicit Mixture(const LossConfig& config) {
    for (const LossTerm& term : config.terms)
      terms_.push_back({&loss_rule(term.kind), term.weight});
  }

  double row(const DistributionRow<float>& row, float* d_logits) const override {
    if (d_logits != nullptr) std::fill_n(d_logits, row.size, 0.f);
    double loss = 0;
    for (const auto& [rule, weight] : terms_)
      loss += rule->of_float(row, static_cast<float>(weight), d_logits);
    return loss;
  }
  double row(const DistributionRow<double>& row, double* d_logits) const override {
    if (d_logits != nullptr) std::fill_n(d_logits, row.size, 0.0);
    double loss = 0;
    for (const auto& [rule, weight] : terms_) loss += rule->of_double(row, weight, d_logits);
    return loss;
  }
  at::Tensor plain(const at::Tensor& log_p, const at::Tensor& log_q, const at::Tensor& labels,
                   at::Tensor* d_logits) const override {
    at::Tensor losses = at::zeros({log_q.size(0)}, log_q.options());
    if (d_logits != nullptr) *d_logits = at::zeros_like(log_q);
    for (const auto& [rule, weight] : terms_) {
      const PlainLosses term = rule->plain(log_p, log_q, labels);
      losses.add_(term.losses, weight);
      if (d_logits != nullptr) d_logits->add_(term.d_logits, weight);
    }
    return losses;
  }

 private:
  struct Term {
    const LossRule* rule;
    double weight;
  };
  std::vector<Term> terms_;
};

// sum of min(p, q); no gradient.
class Overlap : public RowLoss {
 public:
  double row(const DistributionRow<float>& row, float*) const override {
    return losses::overlap(row);
  }
  double row(const DistributionRow<double>& row, double*) const override {
    return losses::overlap(row);
  }
  at::Tensor plain(const at::Tensor& log_p, const at::Tensor& log_q, const at::Tensor&,
                   at::Tensor*) const override {
    return losses::plain_overlap(log_p, log_q).losses;
  }
};

}  // namespace

std::vector<int64_t> TopTokens::argmax() const {
  std::vector<int64_t> first;
  for (size_t i = 0; i < ids.size(); i += k) first.push_back(ids[i]);
  return first;
}

struct BlockLoss::State {
  LossConfig config;
  at::Tensor head;
  Mixture mixture;
  std::vector<double> (*slot_weights)(const LossConfig&, const SlotLosses&) = nullptr;

  // The rows of the batch that the head sees, S of them. Buffers are kept between calls.
  std::vector<int64_t> rows, labels;
  std::vector<double> weights, losses, cross_entropies;
  at::Tensor index, hidden, d_hidden;  // [S], [S, H], [S, H]

  void select(std::vector<int64_t> chosen, const at::Tensor& all, const BlockBatch& batch);
  double normalizer(const BlockBatch& batch) const;
  void weigh_slots(const BlockBatch& batch);
  std::vector<int64_t> target_rows(const BlockBatch& batch) const;
  void scale_gradient(const std::vector<double>& scales);
  LossResult result(const BlockBatch& batch, double denominator) const;
};

// Takes these rows as the ones that count: their hidden states, labels and weights.
void BlockLoss::State::select(std::vector<int64_t> chosen, const at::Tensor& all,
                              const BlockBatch& batch) {
  rows = std::move(chosen);
  const int64_t count = static_cast<int64_t>(rows.size());
  labels.resize(count);
  weights.resize(count);
  losses.assign(count, 0);
  cross_entropies.assign(count, 0);
  for (int64_t i = 0; i < count; ++i) {
    weights[i] = batch.weights[rows[i]];
    labels[i] = weights[i] > 0 ? batch.labels[rows[i]] : -1;
  }
  index = at::from_blob(rows.data(), {count}, at::kLong).to(all.device());
  for (at::Tensor* buffer : {&hidden, &d_hidden}) {
    if (!buffer->defined()) *buffer = at::empty({0}, all.options());
    buffer->resize_({count, all.size(1)});
  }
  at::index_select_out(hidden, all, 0, index);
}

double BlockLoss::State::normalizer(const BlockBatch& batch) const {
  if (config.normalize == "sequences") return static_cast<double>(batch.sequences());
  if (config.normalize == "labels") return static_cast<double>(rows.size()) + kLabelFloor;
  double sum = 0;
  for (const double weight : weights) sum += weight;
  return sum;
}

// Replaces the batch's weights by those that the loss makes of the slots' losses.
void BlockLoss::State::weigh_slots(const BlockBatch& batch) {
  std::vector<double> all_losses(batch.labels.size(), 0);
  std::vector<uint8_t> supervised(batch.labels.size(), 0);
  for (size_t i = 0; i < rows.size(); ++i) {
    all_losses[rows[i]] = losses[i];
    supervised[rows[i]] = 1;
  }
  const std::vector<double> all = slot_weights(config, {batch.block_size, all_losses, supervised});
  for (size_t i = 0; i < rows.size(); ++i) weights[i] = all[rows[i]];
}

std::vector<int64_t> BlockLoss::State::target_rows(const BlockBatch& batch) const {
  std::vector<int64_t> targets;
  for (const int64_t row : rows) targets.push_back(batch.target_rows[row]);
  return targets;
}

void BlockLoss::State::scale_gradient(const std::vector<double>& scales) {
  d_hidden.mul_(at::tensor(scales, at::kDouble).to(d_hidden.options()).unsqueeze(1));
}

LossResult BlockLoss::State::result(const BlockBatch& batch, double denominator) const {
  LossResult result{.denominator = denominator};
  double weighted = 0, weight = 0;
  for (size_t i = 0; i < rows.size(); ++i) {
    result.numerator += weights[i] * losses[i];
    if (labels[i] < 0) continue;
    ++result.labels;
    weighted += batch.weights[rows[i]] * cross_entropies[i];
    weight += batch.weights[rows[i]];
  }
  result.loss = result.numerator / result.denominator;
  result.cross_entropy = weighted / weight;
  return result;
}

BlockLoss::BlockLoss(const LossConfig& config, at::Tensor head)
    : state_(std::make_unique<State>(State{config, head.contiguous(), Mixture(config)})) {
  for (const LossTerm& term : config.terms) state_->slot_weights = loss_rule(term.kind).weights;
}

BlockLoss::~BlockLoss() = default;

int64_t BlockLoss::labels(const BlockBatch& batch) {
  int64_t labels = 0;
  for (size_t row = 0; row < batch.labels.size(); ++row)
    labels += batch.labels[row] >= 0 && batch.weights[row] > 0;
  return labels;
}

LossResult BlockLoss::loss_and_gradient(const at::Tensor& hidden, const BlockBatch& batch,
                                        const at::Tensor& d_hidden) {
  State& s = *state_;
  const bool needs_target = s.config.needs_target();
  TORCH_CHECK(!needs_target || batch.target_hidden.defined(),
              "the batch has no target distributions, which the loss needs");
  std::vector<int64_t> rows;
  for (int64_t row = 0; row < static_cast<int64_t>(batch.labels.size()); ++row) {
    if (batch.weights[row] > 0 && (needs_target || batch.labels[row] >= 0)) rows.push_back(row);
  }
  if (needs_target) {  // neighbours share the target's distribution
    std::ranges::stable_sort(rows, {}, [&](int64_t row) { return batch.target_rows[row]; });
  }
  s.select(std::move(rows), hidden, batch);

  double denominator = 0;
  if (needs_target) {
    const std::vector<int64_t> targets = s.target_rows(batch);
    frozen_head_divergence({s.hidden, s.head, batch.target_hidden, targets, s.labels}, s.mixture,
                           s.losses, s.cross_entropies, s.d_hidden);
    denominator = s.normalizer(batch);
    std::vector<double> scales = s.weights;
    for (double& scale : scales) scale /= denominator;
    s.scale_gradient(scales);
  } else {
    // The gradient of a row is linear in its scale: weights that depend on the losses are
    // multiplied in behind the one pass that gives both.
    const double factor = s.config.terms[0].weight;
    std::vector<double> scales(s.weights.size(), 1);
    if (s.slot_weights == nullptr) {
      denominator = s.normalizer(batch);
      for (size_t i = 0; i < scales.size(); ++i) scales[i] = factor * s.weights[i] / denominator;
    }
    frozen_head_loss(s.hidden, s.head, s.labels, scales, s.losses, s.d_hidden);
    s.cross_entropies = s.losses;
    if (s.slot_weights != nullptr) {
      s.weigh_slots(batch);
      denominator = s.normalizer(batch);
      for (size_t i = 0; i < scales.size(); ++i) scales[i] = s.weights[i] / denominator;
      s.scale_gradient(scales);
    }
    for (double& loss : s.losses) loss *= factor;
  }
  d_hidden.zero_().index_copy_(0, s.index, s.d_hidden);
  return s.result(batch, denominator);
}

LossResult BlockLoss::cross_entropy_and_top(const at::Tensor& hidden, const BlockBatch& batch,
                                            TopTokens& top) {
  State& s = *state_;
  std::vector<int64_t> rows;
  for (int64_t row = 0; row < static_cast<int64_t>(batch.labels.size()); ++row) {
    if (row % batch.block_size != 0) rows.push_back(row);
  }
  s.select(std::move(rows), hidden, batch);
  std::vector<int64_t> ids(s.rows.size() * top.k);
  std::vector<double> log_probabilities(ids.size());
  frozen_head_top(s.hidden, s.head, s.labels, s.losses, {top.k, ids, log_probabilities});

  LossResult result;
  top.ids.assign(batch.labels.size() * top.k, -1);
  top.log_probabilities.assign(top.ids.size(), -std::numeric_limits<double>::infinity());
  for (size_t i = 0; i < s.rows.size(); ++i) {
    const int64_t from = static_cast<int64_t>(i) * top.k, to = s.rows[i] * top.k;
    std::copy_n(ids.begin() + from, top.k, top.ids.begin() + to);
    std::copy_n(log_probabilities.begin() + from, top.k, top.log_probabilities.begin() + to);
    if (s.labels[i] < 0) continue;
    result.numerator += s.weights[i] * s.losses[i];
    result.denominator += s.weights[i];
    ++result.labels;
  }
  result.loss = result.cross_entropy = result.numerator / result.denominator;
  return result;
}

std::vector<double> BlockLoss::expected_acceptance(const at::Tensor& hidden,
                                                   const BlockBatch& batch,
                                                   const at::Tensor& whole_head) {
  State& s = *state_;
  TORCH_CHECK(batch.target_hidden.defined(), "the batch has no target distributions");
  std::vector<int64_t> rows;
  for (int64_t row = 0; row < static_cast<int64_t>(batch.labels.size()); ++row) {
    if (batch.target_rows[row] >= 0) rows.push_back(row);
  }
  std::ranges::stable_sort(rows, {}, [&](int64_t row) { return batch.target_rows[row]; });
  s.select(std::move(rows), hidden, batch);
  const std::vector<int64_t> targets = s.target_rows(batch);
  std::vector<double> log_sums;
  if (whole_head.size(0) != s.head.size(0))
    log_sums = frozen_head_log_sums(batch.target_hidden, whole_head);
  frozen_head_divergence({s.hidden, s.head, batch.target_hidden, targets, s.labels, log_sums},
                         Overlap(), s.losses, {}, {});
  std::vector<double> accepted(batch.labels.size(), kNaN);
  for (size_t i = 0; i < s.rows.size(); ++i) accepted[s.rows[i]] = s.losses[i];
  return accepted;
}

}  // namespace draftlab

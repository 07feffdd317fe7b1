#include "train/trainer.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "base/hash.h"
#include "base/number_text.h"
#include "base/stopwatch.h"
#include "optim/clipping.h"
#include "optim/qk_clip.h"
#include "record/layers/layer_kind.h"
#include "record/schedule.h"
#include "train/device.h"
#include "train/starting_point.h"

namespace draftlab {
namespace {

// A batch whose cross entropy is above this multiple of the first one (or of a uniform guess, if
// that is larger) will not come back: the run has exploded, whatever loss it trains on.
constexpr double kExplosion = 5;

// Takes what a batch trains on into the hash of all batches so far.
std::string chained_hash(const std::string& before, const BlockBatch& batch) {
  Sha256 hash;
  hash.add(before);
  for (const auto* values :
       {&batch.block_sequence, &batch.block_anchor, &batch.token_ids, &batch.labels}) {
    hash.add(values->data(), values->size() * sizeof(int64_t));
  }
  return hash.hex().substr(0, 16);
}

}  // namespace

Trainer::Trainer(const SegmentTask& task, const SegmentFolder& folder) : config_(task.config) {
  require_device(config_.training.device);
  at::set_num_threads(static_cast<int>(config_.training.threads));
  StartingPoint start = starting_point(task, folder);
  state_ = std::move(start.state);
  resumed_ = start.resumed;
  transfer_ = std::move(start.transfer);
  notices_ = std::move(start.notices);

  const at::Device device(config_.training.device);
  data_.emplace(config_, task.store_folder);
  const FrozenTensors& frozen = data_->frozen();
  drafter_.emplace(config_.drafter, frozen.embedding.to(device),
                   data_->vocabulary().head_rows(frozen.head).to(device), config_.training.loss);
  for (auto& [name, weight] : state_.weights) weight = weight.to(device);
  optimizer_.emplace(config_.optimizer, config_.routing, state_.weights);
  if (!state_.optimizer.empty()) optimizer_->load_state(state_.optimizer);
  state_.optimizer.clear();  // the optimizer has its own copy
}

TrainedStep Trainer::step(bool measured) {
  TrainedStep step;
  StepRow& row = step.row;
  Stopwatch watch;
  const BlockBatch batch = data_->training_batch(state_.step);
  state_.data_hash = chained_hash(state_.data_hash, batch);
  row.data_seconds = watch.lap();
  const LossResult loss = drafter_->loss_and_gradients(state_.weights, batch, gradients_);
  if (loss.has_gradient()) row.gradient_norm = clip_gradients(gradients_, config_.training.clip);
  row.model_seconds = watch.lap();
  row.loss = loss.loss;
  row.clipped = config_.training.clip > 0 && row.gradient_norm > config_.training.clip;
  if (loss.has_gradient() && state_.tokens == 0) state_.first_loss = loss.cross_entropy;

  const double schedule = schedule_factor(config_, state_.step);
  row.learning_rate = config_.optimizer.learning_rate() * schedule;
  row.step = state_.step + 1;
  if (loss.has_gradient()) step.divergence = divergence(row, loss);
  if (step.divergence.empty()) {
    if (loss.has_gradient()) update(schedule, measured, step);
    state_.step += 1;
    state_.tokens += loss.labels;
  }
  row.tokens = state_.tokens;
  state_.data_seconds += row.data_seconds;
  state_.model_seconds += row.model_seconds;
  state_.optimizer_seconds += row.optimizer_seconds;

  step.times.data = row.data_seconds;
  step.times.forward = loss.forward_seconds;
  step.times.backward = row.model_seconds - loss.forward_seconds;
  step.times.rest = row.optimizer_seconds - step.times.orthogonalization;
  return step;
}

void Trainer::update(double schedule, bool measured, TrainedStep& step) {
  Stopwatch watch;
  double& seconds = step.row.optimizer_seconds;
  if (measured) {
    step.updates = optimizer_->measured_step(gradients_, schedule, seconds);
    for (UpdateRow& update : step.updates) update.step = step.row.step;
  } else {
    optimizer_->step(gradients_, schedule);
    seconds = watch.lap();
  }
  step.times.orthogonalization = optimizer_->orthogonalization_seconds();
  watch.lap();
  clip_queries_and_keys();
  seconds += watch.lap();
}

// QK-clip. Queries and keys are normed after their projections, so that only the weights of the
// norms, which all heads share, can make attention scores smaller. Layers without scores have no
// such norms.
void Trainer::clip_queries_and_keys() {
  const double threshold = config_.optimizer.number("qk_clip");
  if (threshold == 0) return;
  const std::vector<at::Tensor> scores = drafter_->largest_scores();
  for (size_t i = 0; i < scores.size(); ++i) {
    const LayerKind& kind = layer_kind(config_.drafter.layer_types[i], "drafter.layer_types");
    if (kind.query_norm.empty()) continue;
    const std::string layer = "layers." + std::to_string(i) + ".";
    qk_clip(state_.weights.at(layer + kind.query_norm), state_.weights.at(layer + kind.key_norm),
            scores[i].amax().reshape({1}), threshold);
  }
}

std::string Trainer::divergence(const StepRow& row, const LossResult& loss) const {
  const std::string at = " at step " + std::to_string(row.step);
  if (!std::isfinite(row.loss)) return "the training loss is " + number_text(row.loss) + at;
  if (!std::isfinite(row.gradient_norm))
    return "the gradient norm is " + number_text(row.gradient_norm) + at;
  const double uniform = std::log(static_cast<double>(config_.drafter.draft_vocab_size));
  const double limit = kExplosion * std::max(state_.first_loss, uniform);
  if (loss.cross_entropy > limit) {
    const bool same = config_.training.loss == LossConfig{};
    return std::string(same ? "the training loss is " : "the cross entropy of the batch is ") +
           significant(loss.cross_entropy, 4) + at + ", above " + significant(limit, 4) +
           " (five times the loss of the first step or of a uniform guess)";
  }
  return "";
}

}  // namespace draftlab

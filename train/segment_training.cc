#include "train/segment_training.h"

#include <ATen/ATen.h>
#include <ATen/Context.h>
#include <ATen/Parallel.h>
#include <sys/resource.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "base/error.h"
#include "base/hash.h"
#include "base/number_text.h"
#include "base/stopwatch.h"
#include "model/drafter.h"
#include "optim/clipping.h"
#include "optim/optimizer.h"
#include "optim/qk_clip.h"
#include "optim/schedule.h"
#include "optim/state_transfer.h"
#include "record/metrics.h"
#include "record/progress.h"
#include "record/run_folder.h"
#include "record/transfer.h"
#include "train/checkpoint.h"
#include "train/evaluation.h"
#include "train/provenance.h"
#include "train/training_data.h"

namespace draftlab {
namespace {

namespace fs = std::filesystem;

// A batch loss above this multiple of the first one (or of a uniform guess, if that is larger) will
// not come back: the run has exploded.
constexpr double kExplosion = 5;
constexpr double kProgressSeconds = 0.5;

int64_t peak_memory_bytes() {
  rusage usage;
  ::getrusage(RUSAGE_SELF, &usage);
  return usage.ru_maxrss * 1024;
}

void require_device(const std::string& device) {
  if (device != "cuda" || at::hasCUDA()) return;
  throw Error(
      "training.device",
      "is \"cuda\", but this build or machine has no CUDA device; build with scripts/build cuda "
      "where nvcc and a GPU are, or say \"cpu\"");
}

// A checkpoint whose optimizer state belongs to this routing table.
Checkpoint read_checkpoint_of(const std::vector<Route>& table, const fs::path& file) {
  Checkpoint checkpoint = read_checkpoint(file);
  if (checkpoint.routing == routing_hash(table)) return checkpoint;
  throw Error(
      file.string(),
      "was written under another routing table than segment.json has, so that its optimizer "
      "state belongs to other rules; remove the segment's folder to train it anew");
}

// What a segment takes over from its parent's last checkpoint.
Checkpoint from_parent(const SegmentTask& task, const SegmentFolder& folder) {
  const SegmentFolder parent(folder.root().parent_path() / task.config.parent);
  const fs::path file = parent.checkpoint(task.config.from_step);
  if (!fs::exists(file)) {
    throw Error(file.string(), "is not there; the parent segment " + task.config.parent +
                                   " has to be trained first");
  }
  const SegmentConfig before = read_task(parent.task()).config;
  Checkpoint start = read_checkpoint_of(before.routing, file);
  Transfer transfer = task.config.start.state == "reset"
                          ? reset_state(start.optimizer, task.config.optimizer, task.config.routing)
                          : transfer_state(start.optimizer, before.optimizer, before.routing,
                                           task.config.optimizer, task.config.routing);
  write_transfer(folder.transfer(), transfer.rows);
  start.optimizer = std::move(transfer.state);
  return start;
}

// The state that a segment starts from: its own last checkpoint, its parent's, or initial weights.
Checkpoint starting_point(const SegmentTask& task, const SegmentFolder& folder) {
  if (const auto step = folder.last_checkpoint())
    return read_checkpoint_of(task.config.routing, folder.checkpoint(*step));
  if (!task.config.parent.empty()) return from_parent(task, folder);
  Checkpoint start;
  start.weights = initial_parameters(task.config.drafter, task.config.seeds.weights);
  return start;
}

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

class SegmentTraining {
 public:
  SegmentTraining(const SegmentTask& task, const SegmentFolder& folder)
      : task_(task),
        config_(task.config),
        folder_(folder),
        state_(starting_point(task, folder)),
        resumed_(folder.last_checkpoint().has_value()),
        data_(config_, task.store_folder),
        drafter_(config_.drafter, data_.frozen().embedding.to(at::Device(config_.training.device)),
                 data_.vocabulary()
                     .head_rows(data_.frozen().head)
                     .to(at::Device(config_.training.device))) {
    for (auto& [name, weight] : state_.weights)
      weight = weight.to(at::Device(config_.training.device));
    optimizer_.emplace(config_.optimizer, config_.routing, state_.weights);
    if (!state_.optimizer.empty()) optimizer_->load_state(state_.optimizer);
    state_.optimizer.clear();  // the optimizer has its own copy
    log_.emplace(folder_.metrics(), resumed_ ? state_.step : -1);
  }

  Outcome run(const std::atomic<bool>& stop) {
    if (state_.step == 0) {
      Baselines baselines = data_.baselines();
      baselines.initial_weights_hash = weights_hash(state_.weights);
      write_baselines(folder_.baselines(), baselines);
      evaluate();
      log_->flush();
    }
    while (state_.step < config_.to_step) {
      if (const std::string reason = step(); !reason.empty()) {
        log_->flush();
        return outcome(OutcomeKind::kDiverged, reason);
      }
      const bool last = state_.step == config_.to_step;
      if (evaluated_at(state_.step)) evaluate();
      if (last || stop || state_.step % task_.checkpoint_every == 0) save();
      if (stop && !last)
        return outcome(OutcomeKind::kInterrupted, "stopped by a signal; resume goes on from here");
      report_progress();
    }
    Outcome done = outcome(OutcomeKind::kDone, "");
    done.weights_hash = weights_hash(state_.weights);
    return done;
  }

 private:
  // One optimizer step. Returns why the run diverged, or "".
  std::string step() {
    StepRow row;
    Stopwatch watch;
    const BlockBatch batch = data_.training_batch(state_.step);
    state_.data_hash = chained_hash(state_.data_hash, batch);
    row.data_seconds = watch.lap();
    const LossResult loss = drafter_.loss_and_gradients(state_.weights, batch, gradients_);
    row.gradient_norm = clip_gradients(gradients_, config_.training.clip);
    row.model_seconds = watch.lap();
    row.loss = loss.loss;
    row.clipped = config_.training.clip > 0 && row.gradient_norm > config_.training.clip;
    if (state_.step == 0) state_.first_loss = loss.loss;
    const double schedule = schedule_factor(config_, state_.step);
    row.learning_rate = config_.optimizer.learning_rate() * schedule;

    const std::string reason = divergence(row);
    if (reason.empty()) {
      update(schedule, row);
      state_.step += 1;
      state_.tokens += loss.labels;
    }
    state_.data_seconds += row.data_seconds;
    state_.model_seconds += row.model_seconds;
    state_.optimizer_seconds += row.optimizer_seconds;
    row.step = state_.step + (reason.empty() ? 0 : 1);
    row.tokens = state_.tokens;
    log_->add(row);
    return reason;
  }

  // The optimizer's part of a step. What it does to the weights is measured where an evaluation
  // follows, and in the first step after a switch.
  void update(double schedule, StepRow& row) {
    Stopwatch watch;
    const bool first = !config_.parent.empty() && state_.step == config_.from_step;
    if (!first && !evaluated_at(state_.step + 1)) {
      optimizer_->step(gradients_, schedule);
      clip_queries_and_keys();
      row.optimizer_seconds = watch.lap();
      return;
    }
    std::vector<UpdateRow> updates =
        optimizer_->measured_step(gradients_, schedule, row.optimizer_seconds);
    watch.lap();
    clip_queries_and_keys();
    row.optimizer_seconds += watch.lap();
    for (UpdateRow& update : updates) {
      update.step = state_.step + 1;
      log_->add(update);
    }
  }

  // QK-clip. Queries and keys are normed after their projections, so that only the weights of the
  // norms, which all heads share, can make attention scores smaller.
  void clip_queries_and_keys() {
    const double threshold = config_.optimizer.number("qk_clip");
    if (threshold == 0) return;
    const std::vector<at::Tensor> scores = drafter_.largest_scores();
    for (size_t i = 0; i < scores.size(); ++i) {
      const std::string layer = "layers." + std::to_string(i) + ".self_attn.";
      qk_clip(state_.weights.at(layer + "q_norm.weight"),
              state_.weights.at(layer + "k_norm.weight"), scores[i].amax().reshape({1}), threshold);
    }
  }

  bool evaluated_at(int64_t step) const {
    return std::binary_search(config_.evaluation.steps.begin(), config_.evaluation.steps.end(),
                              step);
  }

  std::string divergence(const StepRow& row) const {
    const std::string at = " at step " + std::to_string(state_.step + 1);
    if (!std::isfinite(row.loss)) return "the training loss is " + number_text(row.loss) + at;
    if (!std::isfinite(row.gradient_norm))
      return "the gradient norm is " + number_text(row.gradient_norm) + at;
    const double uniform = std::log(static_cast<double>(config_.drafter.draft_vocab_size));
    const double limit = kExplosion * std::max(state_.first_loss, uniform);
    if (row.loss > limit) {
      return "the training loss is " + significant(row.loss, 4) + at + ", above " +
             significant(limit, 4) +
             " (five times the loss of the first step or of a uniform guess)";
    }
    return "";
  }

  void evaluate() {
    const auto add = [&](const std::vector<int64_t>& records, const char* split) {
      if (records.empty()) return;
      EvaluationRow row = evaluate_drafter(drafter_, state_.weights, data_, records);
      row.step = state_.step;
      row.split = split;
      row.tokens = state_.tokens;
      row.train_seconds = state_.train_seconds();
      row.data_hash = state_.data_hash;
      if (state_.step < config_.to_step) row.prompt_blocks = row.prompt_matches = {};
      log_->add(row);
    };
    add(data_.split().held_out, "held_out");
    add(data_.split().tuning, "tuning");
  }

  // Rows first: a checkpoint never knows of a step that the log has lost.
  void save() {
    log_->flush();
    state_.optimizer = optimizer_->state();
    state_.routing = routing_hash(config_.routing);
    write_checkpoint(folder_.checkpoint(state_.step), state_);
    const bool last = state_.step == config_.to_step;
    std::vector<fs::path> files;
    for (const auto& entry : fs::directory_iterator(folder_.checkpoints())) {
      if (SegmentFolder::checkpoint_step(entry.path())) files.push_back(entry.path());
    }
    std::sort(files.begin(), files.end());
    for (size_t i = 0; i + (last ? 1 : 2) < files.size(); ++i) fs::remove(files[i]);
  }

  void report_progress() {
    seconds_since_progress_ += progress_watch_.lap();
    ++steps_since_progress_;
    if (seconds_since_progress_ < kProgressSeconds) return;
    write_progress(folder_.progress(),
                   {state_.step, config_.to_step, steps_since_progress_ / seconds_since_progress_});
    seconds_since_progress_ = 0;
    steps_since_progress_ = 0;
  }

  Outcome outcome(OutcomeKind kind, const std::string& reason) const {
    return {.kind = kind,
            .step = state_.step,
            .reason = reason,
            .train_seconds = state_.train_seconds(),
            .data_seconds = state_.data_seconds,
            .model_seconds = state_.model_seconds,
            .optimizer_seconds = state_.optimizer_seconds,
            .peak_memory_bytes = peak_memory_bytes()};
  }

  const SegmentTask& task_;
  const SegmentConfig& config_;
  const SegmentFolder& folder_;
  Checkpoint state_;
  bool resumed_;
  TrainingData data_;
  Drafter drafter_;
  NamedTensors gradients_;
  std::optional<Optimizer> optimizer_;
  std::optional<MetricsLog> log_;
  Stopwatch progress_watch_;
  double seconds_since_progress_ = 0;
  int64_t steps_since_progress_ = 0;
};

}  // namespace

Outcome train_segment(const SegmentTask& task, const std::filesystem::path& segment_folder,
                      const std::atomic<bool>& stop) {
  const SegmentFolder folder(segment_folder);
  const auto finished = read_outcome(folder.outcome());
  if (finished &&
      (finished->kind == OutcomeKind::kDone || finished->kind == OutcomeKind::kDiverged))
    return *finished;
  fs::remove(folder.outcome());
  require_device(task.config.training.device);
  fs::create_directories(folder.checkpoints());
  at::set_num_threads(static_cast<int>(task.config.training.threads));
  write_provenance(folder.provenance(), task.config.training);
  SegmentTraining training(task, folder);
  const Outcome outcome = training.run(stop);
  write_outcome(folder.outcome(), outcome);
  return outcome;
}

}  // namespace draftlab

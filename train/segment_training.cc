#include "train/segment_training.h"

#include <algorithm>
#include <optional>

#include "base/file.h"
#include "base/stopwatch.h"
#include "record/metrics.h"
#include "record/progress.h"
#include "record/run_folder.h"
#include "record/segment_state.h"
#include "record/transfer.h"
#include "train/checkpoint.h"
#include "train/evaluation.h"
#include "train/peak_memory.h"
#include "train/provenance.h"
#include "train/trainer.h"

namespace draftlab {
namespace {

namespace fs = std::filesystem;

constexpr double kProgressSeconds = 0.5;

class SegmentTraining {
 public:
  SegmentTraining(const SegmentTask& task, const SegmentFolder& folder)
      : task_(task),
        config_(task.config),
        folder_(folder),
        trainer_(task, folder),
        state_(trainer_.state()),
        log_(folder.metrics(), state_.log_bytes) {
    if (!trainer_.resumed() && !config_.parent.empty())
      write_transfer(folder.transfer(), trainer_.transfer());
  }

  Outcome run(const std::atomic<bool>& stop) {
    add_life(folder_.provenance(), this_life(config_.training, state_.step));
    if (state_.step == 0) {
      Baselines baselines = trainer_.data().baselines();
      baselines.initial_weights_hash = weights_hash(state_.weights);
      write_baselines(folder_.baselines(), baselines);
      evaluate();
      log_.flush();
    }
    while (state_.step < config_.to_step) {
      if (const std::string reason = step(); !reason.empty()) {
        log_.flush();
        Outcome diverged = outcome(OutcomeKind::kDiverged, reason);
        diverged.metrics_sha256 = log_.sha256();
        return diverged;
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
    done.metrics_sha256 = log_.sha256();
    return done;
  }

 private:
  // One optimizer step. Returns why the run diverged, or "". What the update does to the weights is
  // measured where an evaluation follows, and in the first step after a switch; where training
  // ends, what became of the weights as well.
  std::string step() {
    const bool first = !config_.parent.empty() && state_.step == config_.from_step;
    TrainedStep step = trainer_.step(first || evaluated_at(state_.step + 1));
    if (step.divergence.empty() && state_.step == config_.training.steps)
      trainer_.optimizer().add_spectra(step.updates);
    for (const UpdateRow& update : step.updates) log_.add(update);
    log_.add(step.row);
    return step.divergence;
  }

  bool evaluated_at(int64_t step) const {
    return std::binary_search(config_.evaluation.steps.begin(), config_.evaluation.steps.end(),
                              step);
  }

  void evaluate() {
    const auto add = [&](const std::vector<int64_t>& records, const char* split) {
      if (records.empty()) return;
      EvaluationRow row =
          evaluate_drafter(trainer_.drafter(), state_.weights, trainer_.data(), records);
      row.step = state_.step;
      row.split = split;
      row.tokens = state_.tokens;
      row.train_seconds = state_.train_seconds();
      row.data_hash = state_.data_hash;
      if (state_.step < config_.training.steps) row.prompt_blocks = row.prompt_matches = {};
      log_.add(row);
    };
    add(trainer_.data().split().held_out, "held_out");
    add(trainer_.data().split().tuning, "tuning");
  }

  // Rows first: a checkpoint never knows of a step that the log has lost. At most two checkpoints
  // are on disk: the one before, until this one is complete and for the case that it breaks.
  void save() {
    log_.flush();
    state_.optimizer = trainer_.optimizer().state();
    state_.segment = task_.id;
    state_.log_bytes = log_.bytes();
    state_.log_sha256 = log_.sha256();
    keep_checkpoints(1);
    write_checkpoint(folder_.checkpoint(state_.step), state_);
    if (state_.step == config_.to_step) keep_checkpoints(1);
  }

  void keep_checkpoints(size_t count) const {
    const std::vector<int64_t> steps = folder_.checkpoint_steps();
    for (size_t i = count; i < steps.size(); ++i) fs::remove(folder_.checkpoint(steps[i]));
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
            .peak_memory_bytes = peak_memory_bytes(),
            .segment = task_.id,
            .metrics_sha256 = {},
            .notices = trainer_.notices()};
  }

  const SegmentTask& task_;
  const SegmentConfig& config_;
  const SegmentFolder& folder_;
  Trainer trainer_;
  Checkpoint& state_;  // the trainer's
  MetricsLog log_;
  Stopwatch progress_watch_;
  double seconds_since_progress_ = 0;
  int64_t steps_since_progress_ = 0;
};

}  // namespace

Outcome train_segment(const SegmentTask& task, const std::filesystem::path& segment_folder,
                      const std::atomic<bool>& stop) {
  const SegmentFolder folder(segment_folder);
  const auto finished = read_outcome(folder.outcome(), task.id);
  if (finished && is_result(finished->kind)) return *finished;
  fs::remove(folder.outcome());
  make_folder(folder.checkpoints());
  remove_temporaries(folder.root());
  remove_temporaries(folder.checkpoints());
  SegmentTraining training(task, folder);
  const Outcome outcome = training.run(stop);
  write_outcome(folder.outcome(), outcome);
  return outcome;
}

}  // namespace draftlab

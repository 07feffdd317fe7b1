#pragma once

#include <optional>
#include <string>
#include <vector>

#include "model/drafter.h"
#include "optim/optimizer.h"
#include "record/metrics.h"
#include "record/run_folder.h"
#include "record/segment.h"
#include "record/timing.h"
#include "record/transfer.h"
#include "train/checkpoint.h"
#include "train/training_data.h"

namespace draftlab {

// One optimizer step that was taken, or that a divergence forbade.
struct TrainedStep {
  StepRow row;
  StepTimes times;
  std::vector<UpdateRow> updates;  // where they were asked for
  std::string divergence;          // why the update was not applied; ""
};

// A segment in memory: its data, drafter, weights and optimizer. Writes no file.
class Trainer {
 public:
  // Starts from the segment's last checkpoint, else its parent's, else initial weights. Sets
  // libtorch's number of threads. Throws Error for a store that is missing or broken, a parent that
  // is not trained, a checkpoint of another routing table, a device that this machine has not.
  Trainer(const SegmentTask& task, const SegmentFolder& folder);

  bool resumed() const { return resumed_; }  // from the segment's own checkpoint
  // If not: what became of the parent's optimizer state.
  const std::vector<TransferRow>& transfer() const { return transfer_; }
  // Checkpoints that were passed over, and why.
  const std::vector<std::string>& notices() const { return notices_; }

  // Step number state().step + 1: batch, loss, gradients, clipping, update. `measured`: with what
  // the update does to the weights, which is not on the clock. A batch without a label is a step
  // that updates nothing.
  TrainedStep step(bool measured);

  // Weights and counters; the optimizer's state is in optimizer() alone.
  Checkpoint& state() { return state_; }
  const Checkpoint& state() const { return state_; }
  const Optimizer& optimizer() const { return *optimizer_; }
  const NamedTensors& gradients() const { return gradients_; }  // of the last step
  Drafter& drafter() { return *drafter_; }
  TrainingData& data() { return *data_; }

 private:
  void update(double schedule, bool measured, TrainedStep& step);
  void clip_queries_and_keys();
  std::string divergence(const StepRow& row, const LossResult& loss) const;

  const SegmentConfig config_;
  Checkpoint state_;
  bool resumed_ = false;
  std::vector<TransferRow> transfer_;
  std::vector<std::string> notices_;
  std::optional<TrainingData> data_;
  std::optional<Drafter> drafter_;
  NamedTensors gradients_;
  std::optional<Optimizer> optimizer_;
};

}  // namespace draftlab

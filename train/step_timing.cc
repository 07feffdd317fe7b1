#include "train/step_timing.h"

#include <ATen/ATen.h>
#include <time.h>

#include <memory>
#include <utility>

#include "base/error.h"
#include "base/random.h"
#include "base/stopwatch.h"
#include "record/run_folder.h"
#include "record/timing.h"
#include "train/peak_memory.h"
#include "train/provenance.h"
#include "train/trainer.h"

namespace draftlab {
namespace {

constexpr int64_t kWarmUp = 2, kPeriods = 20, kFewestSteps = 5, kFewestPeriods = 3;
constexpr double kSeconds = 20;

int64_t bytes_of(const NamedTensors& tensors) {
  int64_t bytes = 0;
  for (const auto& [name, tensor] : tensors) bytes += static_cast<int64_t>(tensor.nbytes());
  return bytes;
}

// Waits for a GPU to have done all that it was told.
void finish(const NamedTensors& weights) { weights.begin()->second.view(-1)[0].item(); }

// Of all threads of this process.
double processor_seconds() {
  timespec time = {};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

// One step with everything that is left of it when step() returns.
StepTimes timed_step(Trainer& trainer) {
  const double processor = processor_seconds();
  Stopwatch watch;
  const TrainedStep step = trainer.step(/*measured=*/false);
  finish(trainer.state().weights);
  const double seconds = watch.lap();
  if (!step.divergence.empty())
    throw Error("timing", step.divergence + "; there are no steps to measure");
  StepTimes times = step.times;
  times.rest += seconds - times.total();
  times.processor = processor_seconds() - processor;
  return times;
}

// One segment's part in the rounds.
class Turn {
 public:
  explicit Turn(const TimedSegment& segment)
      : config_(segment.task.config),
        folder_(segment.folder),
        trainer_(segment.task, SegmentFolder(segment.folder)) {
    timing_.period = step_period(config_);
  }

  bool enough() const {
    const auto steps = static_cast<int64_t>(timing_.steps.size());
    if (steps == 0 || steps % timing_.period != 0) return false;
    const int64_t periods = steps / timing_.period;
    return periods >= kPeriods ||
           (seconds_ >= kSeconds && steps >= kFewestSteps && periods >= kFewestPeriods);
  }

  void step() {
    trainer_.state().step = config_.from_step + taken_ % (config_.to_step - config_.from_step);
    const StepTimes times = timed_step(trainer_);
    if (taken_++ < kWarmUp) return;
    timing_.steps.push_back(times);
    seconds_ += times.total();
  }

  void write(int64_t in_turn) {
    timing_.in_turn = in_turn;
    timing_.weight_bytes = bytes_of(trainer_.state().weights);
    timing_.gradient_bytes = bytes_of(trainer_.gradients());
    timing_.optimizer_bytes = bytes_of(trainer_.optimizer().state());
    timing_.peak_memory_bytes = peak_memory_bytes();
    timing_.machine = this_machine(config_.training);
    write_timing(folder_.timing(), timing_);
  }

 private:
  const SegmentConfig& config_;
  SegmentFolder folder_;
  Trainer trainer_;
  Timing timing_;
  int64_t taken_ = 0;
  double seconds_ = 0;
};

}  // namespace

bool time_segments(const std::vector<TimedSegment>& segments, const std::atomic<bool>& stop) {
  std::vector<std::unique_ptr<Turn>> turns;
  for (const TimedSegment& segment : segments) turns.push_back(std::make_unique<Turn>(segment));
  std::vector<Turn*> left;
  for (const auto& turn : turns) left.push_back(turn.get());
  Random order(1, "order of the arms that are timed");
  while (!left.empty()) {
    for (size_t i = left.size(); i > 1; --i) std::swap(left[i - 1], left[order.below(i)]);
    for (Turn* turn : left) {
      if (stop) return false;
      turn->step();
    }
    std::erase_if(left, [](const Turn* turn) { return turn->enough(); });
  }
  for (const auto& turn : turns) turn->write(static_cast<int64_t>(turns.size()));
  return true;
}

}  // namespace draftlab

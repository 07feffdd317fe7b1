#include "train/step_timing.h"

#include <ATen/ATen.h>

#include "base/error.h"
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

// One step with everything that is left of it when step() returns.
StepTimes timed_step(Trainer& trainer) {
  Stopwatch watch;
  const TrainedStep step = trainer.step(/*measured=*/false);
  finish(trainer.state().weights);
  const double seconds = watch.lap();
  if (!step.divergence.empty())
    throw Error("timing", step.divergence + "; there are no steps to measure");
  StepTimes times = step.times;
  times.rest += seconds - times.total();
  return times;
}

}  // namespace

bool time_segment(const SegmentTask& task, const std::filesystem::path& segment_folder,
                  const std::atomic<bool>& stop) {
  const SegmentFolder folder(segment_folder);
  const SegmentConfig& config = task.config;
  Trainer trainer(task, folder);
  Timing timing;
  timing.period = step_period(config);
  const auto enough = [&](int64_t steps, double seconds) {
    if (steps % timing.period != 0) return false;
    const int64_t periods = steps / timing.period;
    return periods >= kPeriods ||
           (seconds >= kSeconds && steps >= kFewestSteps && periods >= kFewestPeriods);
  };
  double seconds = 0;
  for (int64_t i = 0; !enough(static_cast<int64_t>(timing.steps.size()), seconds); ++i) {
    if (stop) return false;
    trainer.state().step = config.from_step + i % (config.to_step - config.from_step);
    const StepTimes times = timed_step(trainer);
    if (i < kWarmUp) continue;
    timing.steps.push_back(times);
    seconds += times.total();
  }
  timing.weight_bytes = bytes_of(trainer.state().weights);
  timing.gradient_bytes = bytes_of(trainer.gradients());
  timing.optimizer_bytes = bytes_of(trainer.optimizer().state());
  timing.peak_memory_bytes = peak_memory_bytes();
  timing.machine = this_machine(config.training);
  write_timing(folder.timing(), timing);
  return true;
}

}  // namespace draftlab

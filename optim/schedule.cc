#include "optim/schedule.h"

#include <cmath>
#include <numbers>

#include "base/error.h"

namespace draftlab {

double schedule_factor(const std::string& schedule, double warmup, int64_t steps, int64_t t) {
  if (t < 0 || t >= steps) {
    throw Error("schedule", "step " + std::to_string(t) + " is outside of the " +
                                std::to_string(steps) + " steps of the schedule");
  }
  const auto warmup_steps = static_cast<int64_t>(warmup * static_cast<double>(steps));
  if (t < warmup_steps) return static_cast<double>(t + 1) / static_cast<double>(warmup_steps);
  if (schedule == "constant") return 1;
  if (schedule == "cosine") {
    const double progress =
        static_cast<double>(t - warmup_steps) / static_cast<double>(steps - warmup_steps);
    return (1 + std::cos(std::numbers::pi * progress)) / 2;
  }
  throw Error("schedule", "'" + schedule + "' is not known; choose one of: cosine constant");
}

double schedule_factor(const SegmentConfig& segment, int64_t t) {
  const TrainingConfig& training = segment.training;
  const int64_t begin = segment.start.schedule_from;
  const double factor =
      schedule_factor(training.schedule, training.warmup, training.steps - begin, t - begin);
  const int64_t since = t - segment.from_step + 1;
  if (since >= segment.start.rewarmup) return factor;
  return factor * static_cast<double>(since) / static_cast<double>(segment.start.rewarmup);
}

}  // namespace draftlab

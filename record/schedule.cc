#include "record/schedule.h"

#include <cmath>
#include <limits>
#include <numbers>

#include "base/error.h"

namespace draftlab {

const std::vector<std::string>& schedule_names() {
  static const std::vector<std::string> names = {"cosine", "constant"};
  return names;
}

double Schedule::factor(int64_t step) const {
  require_one_of(name, schedule_names(), "schedule");
  if (step < begin || step >= end) {
    throw Error("schedule", "step " + std::to_string(step) + " is outside of the steps " +
                                std::to_string(begin) + " to " + std::to_string(end - 1) +
                                " of the schedule");
  }
  const int64_t t = step - begin, warmup_steps = warmup_end - begin, steps = end - begin;
  if (t < warmup_steps) return static_cast<double>(t + 1) / static_cast<double>(warmup_steps);
  if (name == "constant") return 1;
  const double progress =
      static_cast<double>(t - warmup_steps) / static_cast<double>(steps - warmup_steps);
  return (1 + std::cos(std::numbers::pi * progress)) / 2;
}

Schedule schedule_of(const TrainingConfig& training, int64_t begin) {
  const auto left = static_cast<double>(training.steps - begin);
  return {training.schedule, begin, training.steps,
          begin + static_cast<int64_t>(training.warmup * left)};
}

double schedule_factor(const SegmentConfig& segment, int64_t t) {
  const double factor = schedule_of(segment.training, segment.start.schedule_from).factor(t);
  const int64_t since = t - segment.from_step + 1;
  if (since >= segment.start.rewarmup) return factor;
  return factor * static_cast<double>(since) / static_cast<double>(segment.start.rewarmup);
}

double cosine_progress(double factor) { return std::acos(2 * factor - 1) / std::numbers::pi; }

double SchedulePlace::share_of_training() const {
  return static_cast<double>(step) / static_cast<double>(steps);
}

double SchedulePlace::share_of_warmup() const {
  if (warmup_steps == 0) return std::numeric_limits<double>::quiet_NaN();
  return static_cast<double>(step) / static_cast<double>(warmup_steps);
}

}  // namespace draftlab

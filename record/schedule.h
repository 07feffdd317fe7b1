#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "record/segment.h"

namespace draftlab {

// "cosine" and "constant": what a schedule does behind its warm-up.
const std::vector<std::string>& schedule_names();

// The learning-rate schedule of the steps begin .. end-1, counted from 0: a step's factor on the
// learning rate. Planning, training and reports all read it here.
struct Schedule {
  std::string name = "cosine";  // one of schedule_names()
  int64_t begin = 0, end = 0;
  int64_t warmup_end = 0;  // the first step behind the warm-up

  // With t, W and n counted from `begin` (step, warmup_end, end): (t+1)/W while t < W, then
  // "cosine": (1 + cos(pi (t-W)/(n-W)))/2, or "constant": 1 (SpecForge's schedule). Throws Error
  // outside of begin .. end-1, where the cosine would rise again, and for an unknown name.
  double factor(int64_t step) const;
  bool comes_down() const { return name != "constant"; }
  // True if the rate at `step` is on its way down.
  bool decays(int64_t step) const { return comes_down() && step >= warmup_end; }
  // True if it has come down to less than `share` of its peak. Behind the last step, where a curve
  // may be read off, it has.
  bool is_below(double share, int64_t step) const {
    return decays(step) && (step >= end || factor(step) < share);
  }
};

// The schedule of a training from its step `begin` on: warm-up of int(warmup * steps left) steps.
Schedule schedule_of(const TrainingConfig& training, int64_t begin = 0);

// The factor for step t of a segment: its schedule counted from start.schedule_from, times the
// re-warm-up (t - from_step + 1) / rewarmup while that is below 1.
double schedule_factor(const SegmentConfig& segment, int64_t t);

// How far a cosine has come, from 0 at its peak to 1 at its end, where its factor is `factor`
// (0 to 1).
double cosine_progress(double factor);

// Where a step lies in a training and on its warm-up.
struct SchedulePlace {
  int64_t step = 0, steps = 0;  // done, and of the whole training
  int64_t warmup_steps = 0;     // up to the end of the warm-up

  bool in_warmup() const { return step < warmup_steps; }
  double share_of_training() const;
  double share_of_warmup() const;  // above 1 behind it; NaN without a warm-up
};

}  // namespace draftlab

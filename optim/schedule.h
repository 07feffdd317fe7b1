#pragma once

#include <cstdint>
#include <string>

#include "record/segment.h"

namespace draftlab {

// Factor on the learning rate for step t = 0 .. steps-1: (t+1)/W while t < W = int(warmup * steps),
// then "cosine": (1 + cos(pi (t-W)/(steps-W)))/2, or "constant": 1 (SpecForge's schedule). Throws
// Error outside of 0 .. steps-1, where the cosine would rise again.
double schedule_factor(const std::string& schedule, double warmup, int64_t steps, int64_t t);

// The factor for step t of a segment: its schedule counted from start.schedule_from, times the
// re-warm-up (t - from_step + 1) / rewarmup while that is below 1.
double schedule_factor(const SegmentConfig& segment, int64_t t);

}  // namespace draftlab

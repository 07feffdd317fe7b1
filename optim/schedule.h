#pragma once

#include <cstdint>
#include <string>

namespace draftlab {

// Factor on the learning rate for step t = 0 .. steps-1: (t+1)/W while t < W = int(warmup * steps),
// then "cosine": (1 + cos(pi (t-W)/(steps-W)))/2, or "constant": 1 (SpecForge's schedule). Throws
// Error outside of 0 .. steps-1, where the cosine would rise again.
double schedule_factor(const std::string& schedule, double warmup, int64_t steps, int64_t t);

}  // namespace draftlab

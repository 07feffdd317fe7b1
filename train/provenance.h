#pragma once

#include <cstdint>

#include "record/lives.h"
#include "record/machine.h"
#include "record/segment.h"

namespace draftlab {

// The computer that this process runs on, as a worker of this training uses it.
Machine this_machine(const TrainingConfig& training);

// Where and with what this process computes the steps of a segment behind `first_step`.
Life this_life(const TrainingConfig& training, int64_t first_step);

}  // namespace draftlab

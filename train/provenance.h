#pragma once

#include <cstdint>
#include <string>

#include "record/lives.h"
#include "record/machine.h"
#include "record/segment.h"

namespace draftlab {

// Which version of its code each library with several took on this CPU, "draftlab x86-64-v3; ATen
// AVX2; C library FMA; ..."; of one that does not tell (MKL, oneDNN), what the environment asks of
// it. Those of base/dispatch.h, and our own kernels.
std::string vector_instructions();

// The computer that this process runs on, as a worker of this training uses it.
Machine this_machine(const TrainingConfig& training);

// Where and with what this process computes the steps of a segment behind `first_step`.
Life this_life(const TrainingConfig& training, int64_t first_step);

}  // namespace draftlab

#pragma once

#include <cstdint>
#include <span>

#include "kernels/named_tensors.h"
#include "model/drafter.h"
#include "record/metrics.h"
#include "train/training_data.h"

namespace draftlab {

// Cross entropy and acceptance on all evaluation blocks of these records, whatever loss the drafter
// trains on, and where the store keeps the target's distributions the expected acceptance; step,
// split, tokens and seconds are left to the caller. The loss is pooled over labels, the acceptance
// over blocks. Deterministic.
EvaluationRow evaluate_drafter(Drafter& drafter, const NamedTensors& weights, TrainingData& data,
                               std::span<const int64_t> records);

}  // namespace draftlab

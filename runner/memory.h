#pragma once

#include "record/plan.h"
#include "record/segment.h"

namespace draftlab {

// What a worker holds of memory while it trains a segment, in bytes, by a count of its tensors in
// float32. Pages of the store are mapped, can be given back, and are not in it.
struct WorkerMemory {
  double program = 0;   // libtorch and its threads; main memory
  double frozen = 0;    // the target's embedding and head, and the head's draft rows
  double training = 0;  // weights, gradients, optimizer state
  double step = 0;      // rows of one batch: context, what layers keep for the backward pass
  double total() const { return program + frozen + training + step; }
  double on_device() const { return frozen + training + step; }  // of a GPU
};
WorkerMemory worker_memory(const SegmentConfig& config, double tokens_per_sequence);
// Of the segment that needs most. REQUIRES: there is one.
WorkerMemory worker_memory(const PlanRecord& plan, double tokens_per_sequence);

}  // namespace draftlab

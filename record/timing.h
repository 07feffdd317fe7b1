#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "record/machine.h"
#include "record/segment.h"

namespace draftlab {

// Wall-clock seconds of the parts of one training step.
struct StepTimes {
  double data = 0;               // making the batch
  double forward = 0;            // with the loss and its gradient for the last hidden states
  double backward = 0;           // with clipping
  double orthogonalization = 0;  // as Optimizer::orthogonalization_seconds()
  double rest = 0;               // of the update: momentum, AdamW's tensors, QK-clip
  // Of all threads, for the whole step; beside the seconds on the wall, which another process can
  // stretch. 0 in a file of an older version. No part of total().
  double processor = 0;

  double model() const { return forward + backward; }
  double optimizer() const { return orthogonalization + rest; }
  double total() const { return data + model() + optimizer(); }
};

// How long the steps of a segment take while no other worker runs, and what it keeps in memory.
struct Timing {
  std::vector<StepTimes> steps;  // those measured, in order; whole periods
  // After so many steps the work of a step comes round again: SOAP and Shampoo make new bases and
  // roots then, which no single step may stand for.
  int64_t period = 1;
  int64_t weight_bytes = 0, gradient_bytes = 0, optimizer_bytes = 0;
  int64_t peak_memory_bytes = 0;  // largest resident set of the process, loading included
  // How many segments were measured in turn, step by step in changing order, this one among them;
  // their forward passes tell whether the machine was the same to all.
  int64_t in_turn = 1;
  Machine machine;

  // The mean step of each period.
  std::vector<StepTimes> samples() const;
};

JsonObject to_json(const Timing& timing);
// Throws Error naming the key where the object is broken: an unknown key, seconds that are negative
// or not finite, no whole number of periods.
Timing timing_from_json(const Json& value, const std::string& where);
// timing.json of a segment. Throws Error naming the file.
void write_timing(const std::filesystem::path& file, const Timing& timing);
// Nothing if the file is not there.
std::optional<Timing> read_timing(const std::filesystem::path& file);

// Steps after which a step's work comes round again: the value of OptimizerKind::period, else 1.
int64_t step_period(const SegmentConfig& config);

// What the time of a step depends on: drafter, store, batch, device, threads, routing and all of
// the optimizer but its learning rates. Segments with equal texts share one timing.
std::string step_identity(const SegmentConfig& config);
// The same without the optimizer: segments with equal texts have equal data and forward passes.
std::string forward_identity(const SegmentConfig& config);

}  // namespace draftlab

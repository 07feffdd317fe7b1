#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "kernels/named_tensors.h"
#include "record/routing.h"

namespace draftlab {

// Everything that a run needs to go on as if it had never stopped: schedules, batches and anchors
// are functions of the step. One safetensors file: "weights/NAME", "optimizer/NAME/BUFFER",
// counters as metadata.
struct Checkpoint {
  NamedTensors weights;
  NamedTensors optimizer;
  int64_t step = 0;
  int64_t tokens = 0;  // supervised labels so far
  double data_seconds = 0, model_seconds = 0, optimizer_seconds = 0;
  double first_loss = 0;  // of step 1: what "exploding" is measured against
  std::string data_hash;  // as in EvaluationRow
  std::string routing;    // hash of the table that the optimizer state belongs to

  double train_seconds() const { return data_seconds + model_seconds + optimizer_seconds; }
};

// SHA-256 of a table's canonical JSON.
std::string routing_hash(const std::vector<Route>& table);

// Replaces `file` as a whole. Tensors keep their dtype; those on a GPU are copied. Throws Error.
void write_checkpoint(const std::filesystem::path& file, const Checkpoint& checkpoint);
// Tensors on the CPU. Throws Error naming the file.
Checkpoint read_checkpoint(const std::filesystem::path& file);

// SHA-256 over name, shape and bytes of every tensor, in name order.
std::string weights_hash(const NamedTensors& weights);

}  // namespace draftlab

#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "kernels/named_tensors.h"

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
  // Cross entropy of the first batch that had a label: what "exploding" is measured against.
  double first_loss = 0;
  std::string data_hash;  // as in EvaluationRow
  std::string segment;    // the id of the segment that wrote it
  // Of metrics.jsonl when it was written: rows behind that are written anew by a resume.
  int64_t log_bytes = 0;
  std::string log_sha256;

  double train_seconds() const { return data_seconds + model_seconds + optimizer_seconds; }
};

// Replaces `file` as a whole, with a hash of all that it holds. Tensors keep their dtype; those on
// a GPU are copied. Throws Error.
void write_checkpoint(const std::filesystem::path& file, const Checkpoint& checkpoint);
// Tensors on the CPU. Throws Error naming the file if it does not fit its hash, or is another
// segment's or step's than the ones named.
Checkpoint read_checkpoint(const std::filesystem::path& file, const std::string& segment,
                           int64_t step);

// SHA-256 over name, shape and bytes of every tensor, in name order.
std::string weights_hash(const NamedTensors& weights);

}  // namespace draftlab

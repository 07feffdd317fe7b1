#include "runner/memory.h"

#include <algorithm>

#include "record/update_cost.h"

namespace draftlab {
namespace {

// Resident once libtorch is loaded and has run its first product; measured.
constexpr double kProgram = 2.2e8;

}  // namespace

WorkerMemory worker_memory(const SegmentConfig& config, double tokens_per_sequence) {
  const DrafterConfig& d = config.drafter;
  const double h = d.hidden_size;
  WorkerMemory memory;
  memory.program = kProgram;
  memory.frozen = 4 * h * (2.0 * d.vocab_size + d.draft_vocab_size);
  double weights = 0, largest = 0;
  for (const Route& route : config.routing) {
    double count = 1;
    for (const int64_t side : route.shape) count *= static_cast<double>(side);
    weights += count;
    largest = std::max(largest, count);
  }
  memory.training =
      4 * (2 * weights + 2 * largest) + update_cost(config.routing, config.optimizer).state_bytes;
  const double sequences = config.training.sequences_per_step;
  const double rows = sequences * config.training.anchors * d.block_size;
  const double context = sequences * tokens_per_sequence;
  // Of each layer: two norms, queries, keys, values, what attention gives, gate, up and their
  // product; and as many gradients.
  const double layers = d.num_hidden_layers();
  memory.step = 4 * (rows * layers * (8 * h + 3.0 * d.intermediate_size) * 2 +
                     context * h * (d.num_taps + 2 + 2 * layers));
  return memory;
}

WorkerMemory worker_memory(const PlanRecord& plan, double tokens_per_sequence) {
  std::vector<WorkerMemory> all;
  for (const PlannedSegment& segment : plan.segments)
    all.push_back(worker_memory(segment.config, tokens_per_sequence));
  return *std::ranges::max_element(all, {}, &WorkerMemory::total);
}

}  // namespace draftlab

#include "train/starting_point.h"

#include "base/error.h"
#include "model/drafter.h"
#include "optim/state_transfer.h"

namespace draftlab {
namespace {

namespace fs = std::filesystem;

// A checkpoint whose optimizer state belongs to this routing table.
Checkpoint read_checkpoint_of(const std::vector<Route>& table, const fs::path& file) {
  Checkpoint checkpoint = read_checkpoint(file);
  if (checkpoint.routing == routing_hash(table)) return checkpoint;
  throw Error(
      file.string(),
      "was written under another routing table than segment.json has, so that its optimizer "
      "state belongs to other rules; remove the segment's folder to train it anew");
}

// What a segment takes over from its parent's last checkpoint.
StartingPoint from_parent(const SegmentTask& task, const SegmentFolder& folder) {
  const SegmentFolder parent(folder.root().parent_path() / task.config.parent);
  const fs::path file = parent.checkpoint(task.config.from_step);
  if (!fs::exists(file)) {
    throw Error(file.string(), "is not there; the parent segment " + task.config.parent +
                                   " has to be trained first");
  }
  const SegmentConfig before = read_task(parent.task()).config;
  StartingPoint start;
  start.state = read_checkpoint_of(before.routing, file);
  Transfer transfer =
      task.config.start.state == "reset"
          ? reset_state(start.state.optimizer, task.config.optimizer, task.config.routing)
          : transfer_state(start.state.optimizer, before.optimizer, before.routing,
                           task.config.optimizer, task.config.routing);
  start.transfer = std::move(transfer.rows);
  start.state.optimizer = std::move(transfer.state);
  return start;
}

}  // namespace

StartingPoint starting_point(const SegmentTask& task, const SegmentFolder& folder) {
  if (const auto step = folder.last_checkpoint())
    return {read_checkpoint_of(task.config.routing, folder.checkpoint(*step)), true, {}};
  if (!task.config.parent.empty()) return from_parent(task, folder);
  StartingPoint start;
  start.state.weights = initial_parameters(task.config.drafter, task.config.seeds.weights);
  return start;
}

}  // namespace draftlab

#include "train/starting_point.h"

#include "base/error.h"
#include "base/file.h"
#include "base/hash.h"
#include "model/drafter.h"
#include "optim/state_transfer.h"

namespace draftlab {
namespace {

namespace fs = std::filesystem;

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
  try {
    start.state = read_checkpoint(file, task.config.parent, task.config.from_step);
  } catch (const Error& error) {
    throw Error(error.what(), "remove the folder of that segment and resume, to train it anew");
  }
  start.state.log_bytes = 0;  // of the parent's rows
  Transfer transfer =
      task.config.start.state == "reset"
          ? reset_state(start.state.optimizer, task.config.optimizer, task.config.routing)
          : transfer_state(start.state.optimizer, before.optimizer, before.routing,
                           task.config.optimizer, task.config.routing);
  start.transfer = std::move(transfer.rows);
  start.state.optimizer = std::move(transfer.state);
  return start;
}

// Throws Error unless the rows that the checkpoint knows of are there as they were written.
void require_rows(const fs::path& metrics, const Checkpoint& state) {
  const std::string text = fs::exists(metrics) ? read_file(metrics) : "";
  if (sha256_hex(std::string_view(text).substr(0, state.log_bytes)) != state.log_sha256) {
    throw Error(metrics.string(), "lost or changed rows that the checkpoint of step " +
                                      std::to_string(state.step) + " knows of");
  }
}

}  // namespace

StartingPoint starting_point(const SegmentTask& task, const SegmentFolder& folder) {
  std::vector<std::string> notices;
  for (const int64_t step : folder.checkpoint_steps()) {  // the last one first
    try {
      Checkpoint state = read_checkpoint(folder.checkpoint(step), task.id, step);
      require_rows(folder.metrics(), state);
      return {std::move(state), true, {}, std::move(notices)};
    } catch (const Error& error) {
      notices.push_back(std::string("passed over a checkpoint: ") + error.what());
    }
  }
  StartingPoint start;
  if (task.config.parent.empty()) {
    start.state.weights = initial_parameters(task.config.drafter, task.config.seeds.weights);
  } else {
    start = from_parent(task, folder);
  }
  start.notices = std::move(notices);
  return start;
}

}  // namespace draftlab

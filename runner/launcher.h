#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "record/plan.h"
#include "record/run_folder.h"

namespace draftlab {

// How a worker's process ended; what came of its segment is in the segment's folder.
struct WorkerExit {
  std::string segment;  // id
  std::string
      failure;  // "ended with exit status 3", "was killed by signal 9 (Killed)"; "": status 0
  std::string last_line;  // that it printed in this life, if any
};

// Where workers run. Called from one thread.
class Launcher {
 public:
  virtual ~Launcher() = default;
  // Starts a worker on a segment whose folder holds segment.json. Throws Error if it cannot.
  virtual void start(const PlannedSegment& segment, const SegmentFolder& folder) = 0;
  // The next worker that has ended; nothing when `seconds` have passed or a signal came.
  virtual std::optional<WorkerExit> wait_any(double seconds) = 0;
  // Asks all to write a checkpoint and end (SIGTERM), or ends them at once (SIGKILL).
  virtual void ask_to_stop() = 0;
  virtual void kill() = 0;
  virtual size_t running() const = 0;
};

}  // namespace draftlab

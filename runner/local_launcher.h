#pragma once

#include <sys/types.h>

#include <filesystem>
#include <string>
#include <vector>

#include "runner/launcher.h"

namespace draftlab {

// Workers as processes of this machine, each in its own process group (a Ctrl-C reaches the runner
// alone), their output appended to the segment's log. They hold the segment's WorkerLock and learn
// the runner's process id from DRAFTLAB_RUNNER, so that they can end with it. Use from the main
// thread: a worker asks for a signal at the end of the thread that started it.
class LocalLauncher : public Launcher {
 public:
  // Runs `worker` `command` SEGMENT.json..., the segment's own and those of `also`.
  explicit LocalLauncher(std::filesystem::path worker, std::string command = "train")
      : worker_(std::move(worker)), command_(std::move(command)) {}
  // Kills what still runs.
  ~LocalLauncher() override;
  void start(const PlannedSegment& segment, const SegmentFolder& folder) override {
    start(segment, folder, {});
  }
  void start(const PlannedSegment& segment, const SegmentFolder& folder,
             const std::vector<std::filesystem::path>& also);
  std::optional<WorkerExit> wait_any(double seconds) override;
  void ask_to_stop() override;
  void kill() override;
  size_t running() const override { return processes_.size(); }

 private:
  struct Process {
    std::string segment;
    pid_t pid = 0;
    int pid_descriptor = -1;  // readable once the process has ended
    std::filesystem::path log;
    uintmax_t log_start = 0;  // bytes of earlier lives
  };
  void signal_all(int number);
  WorkerExit reap(size_t index);

  std::filesystem::path worker_;
  std::string command_;
  std::vector<Process> processes_;
};

}  // namespace draftlab

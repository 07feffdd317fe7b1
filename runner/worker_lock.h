#pragma once

#include <sys/types.h>

#include <filesystem>
#include <vector>

namespace draftlab {

// Who works on a segment, known to the kernel rather than written down: the runner locks a file of
// the segment's folder and lets the worker inherit the descriptor, so that the lock lasts exactly
// as long as the worker, or a process it started, lives - also when the runner is killed. (An open
// file description lock; flock could not be asked about without taking it.)
class WorkerLock {
 public:
  // Takes the lock. Throws Error if a process holds it.
  explicit WorkerLock(const std::filesystem::path& file);
  // Closes the runner's own descriptor; the worker's keeps the lock.
  ~WorkerLock();
  WorkerLock(const WorkerLock&) = delete;
  WorkerLock& operator=(const WorkerLock&) = delete;
  int descriptor() const { return descriptor_; }

 private:
  int descriptor_;
};

// Whether a worker holds the lock. False where the file does not exist.
bool worker_lives(const std::filesystem::path& lock);

// Ends a worker that outlived its runner: SIGTERM, after `grace_seconds` SIGKILL. Returns the
// processes that it found; none if nobody held the lock. Throws Error if the holder cannot be found
// or stopped.
std::vector<pid_t> stop_leftover(const std::filesystem::path& lock, double grace_seconds);

}  // namespace draftlab

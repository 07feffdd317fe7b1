#pragma once

#include <condition_variable>
#include <filesystem>
#include <mutex>
#include <string>
#include <thread>

#include "base/file.h"

namespace draftlab {

// A FileLock for folders that several machines share. Some network file systems grant flock to one
// process of each machine, so the owner also shows signs of life: every `beat_seconds` it touches
// the file. An owner on another machine whose last sign is younger than kSilentBeats beats holds
// the lease; an older one has died, and its lease is taken over. Ages are told by the clock of the
// file system alone. Released, the file is empty, and nobody waits.
//
// An owner that others believed dead (its machine was suspended) finds their name in the file at
// its next beat, says so, and sends itself SIGTERM: two at once last for one beat at most.
class Lease {
 public:
  static constexpr int kSilentBeats = 6;
  // Throws Error naming the owner, and how long it has been silent, if there is one that lives.
  explicit Lease(const std::filesystem::path& file, double beat_seconds = 10);
  ~Lease();
  Lease(const Lease&) = delete;
  Lease& operator=(const Lease&) = delete;

 private:
  bool is_ours() const;
  void beat(double seconds);

  const std::filesystem::path file_;
  const FileLock lock_;
  const std::string owner_;
  std::mutex mutex_;
  std::condition_variable wake_;
  bool released_ = false;  // guarded by mutex_
  std::thread beating_;
};

}  // namespace draftlab

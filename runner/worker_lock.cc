#include "runner/worker_lock.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <string>
#include <thread>

#include "base/error.h"

namespace draftlab {
namespace {

namespace fs = std::filesystem;

struct flock whole_file() {
  struct flock lock = {};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  return lock;
}

// Processes of this machine with the file open, ourselves left out.
std::vector<pid_t> holders(const fs::path& file) {
  struct stat wanted;
  if (::stat(file.c_str(), &wanted) != 0) return {};
  std::vector<pid_t> found;
  std::error_code ignored;  // processes end while we look; those of other users cannot be read
  for (const auto& process : fs::directory_iterator("/proc", ignored)) {
    const std::string name = process.path().filename().string();
    if (name.find_first_not_of("0123456789") != std::string::npos) continue;
    const pid_t pid = std::stoi(name);
    if (pid == ::getpid()) continue;
    std::error_code hidden;
    for (const auto& descriptor : fs::directory_iterator(process.path() / "fd", hidden)) {
      struct stat info;
      if (::stat(descriptor.path().c_str(), &info) != 0) continue;
      if (info.st_dev != wanted.st_dev || info.st_ino != wanted.st_ino) continue;
      found.push_back(pid);
      break;
    }
  }
  return found;
}

bool ends_within(const fs::path& lock, double seconds) {
  using Clock = std::chrono::steady_clock;
  const auto deadline = Clock::now() + std::chrono::duration<double>(seconds);
  while (worker_lives(lock)) {
    if (Clock::now() >= deadline) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  return true;
}

}  // namespace

WorkerLock::WorkerLock(const fs::path& file)
    : descriptor_(::open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0644)) {
  struct flock lock = whole_file();
  if (descriptor_ >= 0 && ::fcntl(descriptor_, F_OFD_SETLK, &lock) == 0) return;
  const int code = errno;
  if (descriptor_ >= 0) ::close(descriptor_);
  if (code == EAGAIN || code == EACCES) {
    throw Error(file.string(), "a worker still trains this segment; wait for it to end");
  }
  throw Error(file.string(), std::string("cannot lock: ") + std::strerror(code));
}

WorkerLock::~WorkerLock() { ::close(descriptor_); }

bool worker_lives(const fs::path& lock) {
  const int descriptor = ::open(lock.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) return false;
  struct flock held = whole_file();
  const bool asked = ::fcntl(descriptor, F_OFD_GETLK, &held) == 0;
  ::close(descriptor);
  return asked && held.l_type != F_UNLCK;
}

std::vector<pid_t> stop_leftover(const fs::path& lock, double grace_seconds) {
  if (!worker_lives(lock)) return {};
  const std::vector<pid_t> found = holders(lock);
  if (found.empty()) {
    if (ends_within(lock, grace_seconds)) return {};
    throw Error(lock.string(),
                "a worker of an earlier run still trains this segment, on another machine or as "
                "another user; stop it, then resume");
  }
  for (const pid_t pid : found) ::kill(pid, SIGTERM);
  if (!ends_within(lock, grace_seconds)) {
    for (const pid_t pid : holders(lock)) ::kill(pid, SIGKILL);
    if (!ends_within(lock, 10)) {
      throw Error(lock.string(),
                  "process " + std::to_string(found[0]) +
                      ", a worker of an earlier run, cannot be stopped; stop it, then "
                      "resume");
    }
  }
  return found;
}

}  // namespace draftlab

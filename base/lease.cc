#include "base/lease.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cmath>
#include <iostream>
#include <system_error>

#include "base/error.h"

namespace draftlab {
namespace {

namespace fs = std::filesystem;

double modified_seconds(const fs::path& file) {
  struct stat info;
  if (::stat(file.c_str(), &info) != 0)
    throw Error(file.string(), "cannot look at it: " + std::generic_category().message(errno));
  return static_cast<double>(info.st_mtim.tv_sec) +
         1e-9 * static_cast<double>(info.st_mtim.tv_nsec);
}

// Seconds since `file` was touched. "Now" is what the file system dates a new file with: the clocks
// of machines differ.
double silent_seconds(const fs::path& file) {
  const fs::path probe = file.string() + "." + std::to_string(::getpid()) + ".tmp";
  real_disk().write_and_sync(probe, "now");
  const double now = modified_seconds(probe);
  fs::remove(probe);
  return now - modified_seconds(file);
}

std::string this_host() {
  char host[256] = "";
  ::gethostname(host, sizeof host - 1);
  return host;
}

// The machine in an owner's "pid N on HOST since TIME"; empty where nobody is named.
std::string host_of(const std::string& owner) {
  const size_t begin = owner.find(" on ");
  if (begin == std::string::npos) return "";
  const size_t end = owner.find(" since ", begin);
  return owner.substr(begin + 4, end == std::string::npos ? end : end - begin - 4);
}

// Processes of this machine are FileLock's to judge: the kernel knows whether they live.
const fs::path& without_owner_elsewhere(const fs::path& file, double longest_silence) {
  if (!fs::is_regular_file(fs::symlink_status(file))) return file;
  const std::string owner = read_file(file);
  const std::string host = host_of(owner);
  if (host.empty() || host == this_host()) return file;
  const double silent = silent_seconds(file);
  if (silent > longest_silence) return file;
  throw Error(file.string(),
              "another draftlab works in this folder (" + owner +
                  "), on another machine; its last sign of life is " +
                  std::to_string(std::lround(std::fmax(0, silent))) +
                  " s old; wait for it to end, or stop it there; if it has died, try again in " +
                  std::to_string(std::lround(std::ceil(longest_silence - silent))) + " s");
}

}  // namespace

Lease::Lease(const fs::path& file, double beat_seconds)
    : file_(file),
      lock_(without_owner_elsewhere(file, kSilentBeats * beat_seconds)),
      owner_(read_file(file)) {
  if (host_of(owner_) != this_host())
    throw Error(file.string(), "another draftlab took this folder at the same moment (" + owner_ +
                                   "); wait for it to end, or stop it there");
  // The thread takes no signal, so that one interrupts what the program waits for.
  sigset_t all, before;
  sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  try {
    beating_ = std::thread([this, beat_seconds] { beat(beat_seconds); });
  } catch (const std::system_error& error) {
    ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
    throw Error(file.string(), std::string("cannot start a thread: ") + error.what());
  }
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

Lease::~Lease() {
  {
    const std::lock_guard guard(mutex_);
    released_ = true;
  }
  wake_.notify_one();
  beating_.join();
  if (is_ours()) (void)!::truncate(file_.c_str(), 0);
}

// A folder that cannot be read at the moment is not one that another took.
bool Lease::is_ours() const {
  try {
    return read_file(file_) == owner_;
  } catch (const Error&) {
    return true;
  }
}

void Lease::beat(double seconds) {
  std::unique_lock guard(mutex_);
  while (
      !wake_.wait_for(guard, std::chrono::duration<double>(seconds), [&] { return released_; })) {
    if (!is_ours()) {
      std::cerr << file_.string() << ": another draftlab has taken this folder over; ending\n";
      ::kill(::getpid(), SIGTERM);
      return;
    }
    ::utimensat(AT_FDCWD, file_.c_str(), nullptr, 0);
  }
}

}  // namespace draftlab

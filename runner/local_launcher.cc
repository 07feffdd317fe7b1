#include "runner/local_launcher.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <fstream>

#include "base/error.h"
#include "runner/worker_lock.h"

extern char** environ;

namespace draftlab {
namespace {

namespace fs = std::filesystem;

constexpr int kLockDescriptor = 3;  // in the worker; everything above is closed

// Our environment with some variables replaced.
std::vector<std::string> environment_with(
    const std::vector<std::pair<std::string, std::string>>& set) {
  std::vector<std::string> result;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    const bool replaced = std::any_of(set.begin(), set.end(), [&](const auto& each) {
      return text.starts_with(each.first + "=");
    });
    if (!replaced) result.emplace_back(text);
  }
  for (const auto& [name, value] : set) result.push_back(name + "=" + value);
  return result;
}

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> result;
  for (std::string& text : texts) result.push_back(text.data());
  result.push_back(nullptr);
  return result;
}

// Attributes and file actions of posix_spawn, freed at the end.
struct Spawn {
  Spawn() {
    posix_spawn_file_actions_init(&actions);
    posix_spawnattr_init(&attributes);
  }
  ~Spawn() {
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
  }
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
};

pid_t spawn(std::vector<std::string> arguments, std::vector<std::string> environment,
            const fs::path& log, int lock) {
  Spawn with;
  posix_spawn_file_actions_addopen(&with.actions, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&with.actions, 1, log.c_str(), O_WRONLY | O_CREAT | O_APPEND,
                                   0644);
  posix_spawn_file_actions_adddup2(&with.actions, 1, 2);
  posix_spawn_file_actions_adddup2(&with.actions, lock, kLockDescriptor);
  posix_spawn_file_actions_addclosefrom_np(&with.actions, kLockDescriptor + 1);
  sigset_t all;
  sigfillset(&all);
  // A worker lets signals in once it knows what to do with them (train: after libtorch is loaded).
  posix_spawnattr_setsigmask(&with.attributes, &all);
  posix_spawnattr_setsigdefault(&with.attributes, &all);
  posix_spawnattr_setpgroup(&with.attributes, 0);
  posix_spawnattr_setflags(&with.attributes,
                           POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  pid_t pid = 0;
  const int code = posix_spawn(&pid, arguments[0].c_str(), &with.actions, &with.attributes,
                               pointers(arguments).data(), pointers(environment).data());
  if (code != 0) throw Error(arguments[0], std::string("cannot start: ") + ::strerror(code));
  return pid;
}

// The last line with anything on it, from byte `start` on; at most a few hundred bytes of it.
std::string last_line(const fs::path& file, uintmax_t start) {
  constexpr uintmax_t kTail = 4096;
  constexpr size_t kLongest = 500;
  std::error_code code;
  const uintmax_t size = fs::file_size(file, code);
  if (code || size <= start) return "";
  const uintmax_t begin = std::max(start, size > kTail ? size - kTail : 0);
  std::ifstream in(file, std::ios::binary);
  in.seekg(static_cast<std::streamoff>(begin));
  std::string text(size - begin, '\0');
  in.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(in.gcount());
  const size_t end = text.find_last_not_of(" \t\r\n");
  if (end == std::string::npos) return "";
  text.resize(end + 1);
  const size_t line = text.find_last_of("\r\n");
  return text.substr(line == std::string::npos ? 0 : line + 1, kLongest);
}

}  // namespace

LocalLauncher::~LocalLauncher() {
  kill();
  while (!processes_.empty()) reap(0);
}

void LocalLauncher::start(const PlannedSegment& segment, const SegmentFolder& folder,
                          const std::vector<fs::path>& also) {
  const WorkerLock lock(folder.lock());
  Process process;
  process.segment = segment.id;
  process.log = folder.log();
  std::error_code absent;
  const uintmax_t size = fs::file_size(process.log, absent);
  process.log_start = absent ? 0 : size;
  const std::string threads = std::to_string(segment.config.training.threads);
  std::vector<std::string> words = {worker_.string(), command_, folder.task().string()};
  for (const fs::path& task : also) words.push_back(task.string());
  process.pid = spawn(words,
                      environment_with({{"OMP_NUM_THREADS", threads},
                                        {"MKL_NUM_THREADS", threads},
                                        {"DRAFTLAB_RUNNER", std::to_string(::getpid())}}),
                      process.log, lock.descriptor());
  process.pid_descriptor = static_cast<int>(::syscall(SYS_pidfd_open, process.pid, 0));
  if (process.pid_descriptor < 0) {
    const int code = errno;
    ::kill(-process.pid, SIGKILL);
    ::waitpid(process.pid, nullptr, 0);
    throw Error("pidfd_open", ::strerror(code) +
                                  std::string(code == ENOSYS ? "; draftlab needs Linux 5.3 or newer"
                                                             : "; see ulimit -a"));
  }
  processes_.push_back(std::move(process));
}

std::optional<WorkerExit> LocalLauncher::wait_any(double seconds) {
  std::vector<pollfd> watched;
  for (const Process& process : processes_) watched.push_back({process.pid_descriptor, POLLIN, 0});
  if (::poll(watched.data(), watched.size(), static_cast<int>(seconds * 1000)) <= 0)
    return std::nullopt;
  for (size_t i = 0; i < watched.size(); ++i) {
    if (watched[i].revents != 0) return reap(i);
  }
  return std::nullopt;
}

WorkerExit LocalLauncher::reap(size_t index) {
  const Process process = std::move(processes_[index]);
  processes_.erase(processes_.begin() + static_cast<ptrdiff_t>(index));
  siginfo_t info = {};
  // Leave the zombie while the rest of its group is killed: its id cannot be given away before.
  while (::waitid(P_PID, process.pid, &info, WEXITED | WNOWAIT) != 0 && errno == EINTR) {
  }
  ::kill(-process.pid, SIGKILL);
  while (::waitpid(process.pid, nullptr, 0) < 0 && errno == EINTR) {
  }
  ::close(process.pid_descriptor);
  WorkerExit exit{process.segment, "", last_line(process.log, process.log_start)};
  // waitid keeps "exit 9" and SIGKILL apart.
  if (info.si_code == CLD_EXITED && info.si_status != 0) {
    exit.failure = "ended with exit status " + std::to_string(info.si_status);
  } else if (info.si_code == CLD_KILLED || info.si_code == CLD_DUMPED) {
    exit.failure = "was killed by signal " + std::to_string(info.si_status) + " (" +
                   ::strsignal(info.si_status) + ")";
  }
  return exit;
}

void LocalLauncher::signal_all(int number) {
  for (const Process& process : processes_) ::kill(-process.pid, number);
}

void LocalLauncher::ask_to_stop() { signal_all(SIGTERM); }

void LocalLauncher::kill() { signal_all(SIGKILL); }

}  // namespace draftlab

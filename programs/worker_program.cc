#include "programs/worker_program.h"

#include <fcntl.h>
#include <spawn.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <iostream>
#include <string>
#include <vector>

#include "base/error.h"

extern char** environ;

namespace draftlab {

namespace fs = std::filesystem;

namespace {

// Runs the worker with these words to its end; what waitpid says of it.
int run_worker(std::vector<std::string> words, bool quiet) {
  words.insert(words.begin(), worker_program().string());
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  std::cout.flush();
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  if (quiet) posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
  pid_t pid = 0;
  // It ends with us, also where we die before it can ask for that.
  ::setenv("DRAFTLAB_RUNNER", std::to_string(::getpid()).c_str(), 1);
  const int code = ::posix_spawn(&pid, arguments[0], &actions, nullptr, arguments.data(), environ);
  ::unsetenv("DRAFTLAB_RUNNER");
  posix_spawn_file_actions_destroy(&actions);
  if (code != 0) throw Error(words[0], std::string("cannot start: ") + ::strerror(code));
  int status = 0;
  while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  return status;
}

}  // namespace

fs::path worker_program() {
  const fs::path program = fs::read_symlink("/proc/self/exe").parent_path() / "draftlab-worker";
  if (::access(program.c_str(), X_OK) != 0) {
    throw Error(program.string(), "is not there; build it, or put it beside draftlab");
  }
  return program;
}

void require_worker_device(const std::string& device) {
  if (device == "cpu" || run_worker({"check-device", device}, false) == 0) return;
  throw Error("training.device",
              "the worker cannot train on \"" + device + "\"; the reason is above");
}

void require_worker_split(const fs::path& store, const SplitConfig& split) {
  if (split.by != "similarity" ||
      run_worker({"check-split", store.string(), canonical(to_json(split))}, false) == 0)
    return;
  throw Error("split", "the store cannot be split like this; the reason is above");
}

void build_store_with_worker(const fs::path& specification, const fs::path& folder, bool quiet) {
  const int status = run_worker({"build-store", specification.string(), folder.string()}, quiet);
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return;
  throw Error(folder.string(),
              WIFSIGNALED(status)
                  ? "building the store was stopped by signal " + std::to_string(WTERMSIG(status)) +
                        " (" + ::strsignal(WTERMSIG(status)) + "); the same command goes on with it"
                  : "the store could not be built; the reason is above");
}

}  // namespace draftlab

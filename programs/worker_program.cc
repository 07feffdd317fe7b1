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

#include "base/error.h"

extern char** environ;

namespace draftlab {

namespace fs = std::filesystem;

fs::path worker_program() {
  const fs::path program = fs::read_symlink("/proc/self/exe").parent_path() / "draftlab-worker";
  if (::access(program.c_str(), X_OK) != 0) {
    throw Error(program.string(), "is not there; build it, or put it beside draftlab");
  }
  return program;
}

void build_store_with_worker(const fs::path& specification, const fs::path& folder, bool quiet) {
  std::string words[] = {worker_program().string(), "build-store", specification.string(),
                         folder.string()};
  char* arguments[] = {words[0].data(), words[1].data(), words[2].data(), words[3].data(), nullptr};
  std::cout.flush();
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  if (quiet) posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
  pid_t pid = 0;
  // It ends with us, also where we die before it can ask for that.
  ::setenv("DRAFTLAB_RUNNER", std::to_string(::getpid()).c_str(), 1);
  const int code = ::posix_spawn(&pid, arguments[0], &actions, nullptr, arguments, environ);
  ::unsetenv("DRAFTLAB_RUNNER");
  posix_spawn_file_actions_destroy(&actions);
  if (code != 0) throw Error(words[0], std::string("cannot start: ") + ::strerror(code));
  int status = 0;
  while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return;
  throw Error(folder.string(),
              WIFSIGNALED(status)
                  ? "building the store was stopped by signal " + std::to_string(WTERMSIG(status)) +
                        " (" + ::strsignal(WTERMSIG(status)) + "); the same command goes on with it"
                  : "the store could not be built; the reason is above");
}

}  // namespace draftlab

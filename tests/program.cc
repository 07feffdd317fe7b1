#include "tests/program.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <fstream>
#include <sstream>
#include <thread>

#include "base/error.h"
#include "base/file.h"

namespace draftlab {

namespace fs = std::filesystem;

namespace {

constexpr auto kPatience = std::chrono::minutes(5);  // with a slow machine; nothing is measured

std::string temporary(const char* pattern) {
  return (fs::temp_directory_path() / pattern).string();
}

}  // namespace

bool eventually(const std::function<bool()>& condition) {
  const auto deadline = std::chrono::steady_clock::now() + kPatience;
  while (!condition()) {
    if (std::chrono::steady_clock::now() > deadline) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return true;
}

TestFolder::TestFolder() {
  std::string name = temporary("draftlab-test-XXXXXX");
  if (::mkdtemp(name.data()) == nullptr) throw Error(name, "cannot make a folder");
  path_ = name;
}

TestFolder::~TestFolder() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

Program::Program(std::vector<std::string> words) {
  std::string log = temporary("draftlab-output-XXXXXX");
  const int descriptor = ::mkostemp(log.data(), O_CLOEXEC | O_APPEND);
  if (descriptor < 0) throw Error(log, "cannot make a file");
  log_ = log;
  words.insert(words.begin(), DRAFTLAB_PROGRAM);
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  pid_ = ::fork();
  if (pid_ == 0) {
    ::signal(SIGINT, SIG_DFL);  // a test in the background of a shell inherits that it is ignored
    ::dup2(descriptor, STDOUT_FILENO);
    ::dup2(descriptor, STDERR_FILENO);
    ::execv(arguments[0], arguments.data());
    ::_exit(127);
  }
  ::close(descriptor);
}

Program::~Program() {
  if (running()) {
    send(SIGKILL);
    wait();
  }
  ::unlink(log_.c_str());
}

void Program::send(int signal) const { ::kill(pid_, signal); }

bool Program::running() {
  if (status_) return false;
  int status = 0;
  if (::waitpid(pid_, &status, WNOHANG) != pid_) return true;
  status_ = WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
  return false;
}

int Program::wait() {
  if (!eventually([&] { return !running(); })) {
    ADD_FAILURE() << "it does not end; its output:\n" << output();
    return -1;
  }
  return *status_;
}

std::string Program::output() const { return read_file(log_); }

std::vector<pid_t> Program::children() const {
  const std::string pid = std::to_string(pid_);
  std::ifstream in("/proc/" + pid + "/task/" + pid + "/children");
  std::vector<pid_t> found;
  for (pid_t child; in >> child;) found.push_back(child);
  return found;
}

Finished draftlab(std::vector<std::string> words) {
  Program program(std::move(words));
  const int status = program.wait();
  return {status, program.output()};
}

}  // namespace draftlab

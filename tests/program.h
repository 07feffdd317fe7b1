#pragma once

#include <sys/types.h>

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace draftlab {

// A real program under test, started in a shell-like way; its output is kept. Killed at the end if
// it still runs.
class Program {
 public:
  // `words`: the command line after draftlab's name.
  explicit Program(std::vector<std::string> words);
  ~Program();
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  pid_t pid() const { return pid_; }
  void send(int signal) const;
  // Waits until it has ended; fails the test after some minutes. The exit status, or minus the
  // signal.
  int wait();
  bool running();
  // Standard output and standard error so far.
  std::string output() const;
  // Processes that it started and that live.
  std::vector<pid_t> children() const;

 private:
  pid_t pid_ = 0;
  std::filesystem::path log_;
  std::optional<int> status_;
};

struct Finished {
  int status = 0;  // exit status, or minus the signal
  std::string output;
};
Finished draftlab(std::vector<std::string> words);

// Asks every few milliseconds, for some minutes at most. Whether the condition came true.
bool eventually(const std::function<bool()>& condition);

// A folder that is removed at the end of the test.
class TestFolder {
 public:
  TestFolder();
  ~TestFolder();
  std::filesystem::path operator/(const std::string& name) const { return path_ / name; }

 private:
  std::filesystem::path path_;
};

}  // namespace draftlab

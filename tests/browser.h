#pragma once

#include <sys/types.h>

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "tests/program.h"

namespace draftlab {

// Chromium without a window and without a network, with one page. It is driven by the DevTools
// protocol: JSON messages, each ended by a zero byte, over a pipe. Fails the test, by an Error,
// where it does not answer.
class Browser {
 public:
  // The program; nothing where it is not installed.
  static std::optional<std::filesystem::path> program();

  Browser();
  ~Browser();
  Browser(const Browser&) = delete;
  Browser& operator=(const Browser&) = delete;

  // For pages that are opened afterwards.
  void allow_scripts(bool allow);
  void set_width(int pixels);
  void set_dark(bool dark);  // the colour scheme that the reader prefers

  // Waits until the page is loaded.
  void open(const std::filesystem::path& file);
  // The value of an expression in the page.
  Json evaluate(const std::string& expression);

  // Since the start: what stood on the console, exceptions, refusals by a policy; and every address
  // that was asked for.
  const std::vector<std::string>& complaints() const { return complaints_; }
  const std::vector<std::string>& requests() const { return requests_; }

 private:
  Json call(const std::string& method, const JsonObject& parameters = {});
  Json receive();
  void note(const Json& event);

  TestFolder folder_;  // its profile
  pid_t pid_ = 0;
  int to_ = -1, from_ = -1;
  int64_t last_id_ = 0;
  std::string buffer_, session_;
  bool loaded_ = false;
  std::vector<std::string> complaints_, requests_;
};

}  // namespace draftlab

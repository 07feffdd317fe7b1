#pragma once

#include <boost/program_options/options_description.hpp>
#include <boost/program_options/positional_options.hpp>
#include <boost/program_options/variables_map.hpp>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

namespace draftlab {

// A command line that makes no sense; main prints it with a hint at --help and ends with status 2.
struct UsageError : std::runtime_error {
  using std::runtime_error::runtime_error;
};
// It is the command that is not known, so that its --help is no hint.
struct UnknownCommand : UsageError {
  using UsageError::UsageError;
};

// What one command accepts. Values are read as text and numbers parsed from it: Program_options
// would read "0.001" as 0 in some locales.
class CommandLine {
 public:
  // `help` is what --help prints above the options: usage, what it does, examples.
  explicit CommandLine(std::string help);
  void argument(const std::string& name);   // positional, required
  void arguments(const std::string& name);  // all that follow, at least one
  void option(const std::string& name, const std::string& value, const std::string& meaning);
  // One that may be given several times; texts() has them all.
  void options(const std::string& name, const std::string& value, const std::string& meaning);
  void flag(const std::string& name, const std::string& meaning);

  // Prints the help and returns false where --help is given. Throws UsageError.
  bool parse(const std::vector<std::string>& words);

  std::string text(const std::string& name) const;  // REQUIRES: an argument, or given
  // Of an argument or an option, one or several; none where it is not given.
  std::vector<std::string> texts(const std::string& name) const;
  std::optional<std::string> optional_text(const std::string& name) const;
  bool given(const std::string& name) const { return values_.count(name) > 0; }
  std::optional<int64_t> whole_number(const std::string& name, int64_t low, int64_t high) const;

 private:
  std::string help_;
  std::vector<std::string> arguments_, options_, valued_;  // valued: all but flags
  boost::program_options::options_description shown_, hidden_;
  boost::program_options::positional_options_description positions_;
  boost::program_options::variables_map values_;
};

}  // namespace draftlab

#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "base/file.h"
#include "base/hash.h"

namespace draftlab {

// A file of lines that grows at its end: metrics, events, lives. One process writes it at a time.
// Whatever kills a writer, the next one finds whole lines: opening cuts a torn one at the end.
class AppendLog {
 public:
  // Keeps the first `keep` bytes and cuts the rest; without `keep` all whole lines. A file that is
  // not there is made, empty. Throws Error naming the file if it is shorter than `keep`.
  explicit AppendLog(std::filesystem::path file, std::optional<int64_t> keep = std::nullopt,
                     Disk& disk = real_disk());

  // Adds whole lines, each with its newline, in one synced write. Throws Error if that fails; the
  // log is then as it was before, or ends with a torn line if the disk does not even cut.
  void append(std::string_view lines);

  int64_t bytes() const { return bytes_; }
  std::string sha256() const { return hash_.hex(); }  // of all bytes

 private:
  std::filesystem::path file_;
  Disk& disk_;
  int64_t bytes_ = 0;
  Sha256 hash_;
};

}  // namespace draftlab

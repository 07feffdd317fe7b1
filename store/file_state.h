#pragma once

#include <sys/types.h>

#include <compare>
#include <cstdint>
#include <filesystem>

namespace draftlab {

// What tells whether a file is still the one that was looked at.
struct FileState {
  dev_t device;
  ino_t inode;
  off_t size;
  int64_t modified, changed;  // nanoseconds since 1970

  auto operator<=>(const FileState&) const = default;
};

// Throws Error naming the file if it cannot be looked at.
FileState file_state(const std::filesystem::path& file);

}  // namespace draftlab

#pragma once

#include <filesystem>
#include <string>

namespace draftlab {

// SHA-256 of a file, computed once per process as long as the file stays the same one by device,
// inode, size and times of change. A file that changed less than a second ago is hashed each time:
// its next change may bear the same time. Not thread-safe. Throws Error naming the file if it
// cannot be read.
std::string sha256_once(const std::filesystem::path& file);

}  // namespace draftlab

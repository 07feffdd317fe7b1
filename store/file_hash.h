#pragma once

#include <filesystem>
#include <string>

namespace draftlab {

// SHA-256 of a file, computed once per process as long as its size and time of change stay the
// same. Not thread-safe. Throws Error naming the file if it cannot be read.
const std::string& sha256_once(const std::filesystem::path& file);

}  // namespace draftlab

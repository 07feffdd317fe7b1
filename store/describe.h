#pragma once

#include <filesystem>
#include <string>

namespace draftlab {

// What `store show` prints: target, taps, records, tokens, bytes, responses, looped share, hashes.
// A store that is still being built says so. Throws Error if the folder holds neither.
std::string describe_store(const std::filesystem::path& folder);

}  // namespace draftlab

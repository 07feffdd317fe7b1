#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace draftlab {

// One fault of a store.
struct Finding {
  std::string shard;    // file name; "" if it is about the manifest
  int64_t record = -1;  // inside the shard; -1: the shard as a whole
  std::string what;
};
std::string to_text(const Finding& finding);

// Reads every byte of a store and compares it with its manifest: missing, truncated or swapped
// shards, flipped bytes, wrong lengths, token ids outside the vocabulary, NaN and infinity in taps.
// Empty: all is well. Throws Error only if there is no readable manifest.
std::vector<Finding> verify_store(const std::filesystem::path& folder);

}  // namespace draftlab

#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace draftlab {

// What a report says about the hidden-state store; read from its manifest, which may be gone by the
// time the report is written. Missing keys stay empty.
struct StoreFacts {
  std::filesystem::path folder;
  std::string error;  // why there are no facts; empty if the manifest was read
  std::string target_name, target_architecture, target_sha256, tokenizer_sha256;
  std::string responses;  // how they were made
  std::optional<int64_t> target_layers, records, tokens, response_tokens;
  std::optional<double> looped_share;
  std::vector<int64_t> taps;
};

StoreFacts read_store_facts(const std::filesystem::path& store_folder);

}  // namespace draftlab

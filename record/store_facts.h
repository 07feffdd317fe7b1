#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/json.h"

namespace draftlab {

// What planning and reports must know of a hidden-state store, so that neither reads it: taken from
// its manifest when a sweep is planned, and frozen in plan.json. Before the store is built, what
// its specification says; nothing where that is not known yet.
struct StoreFacts {
  std::string target_name, target_architecture, target_sha256, tokenizer_sha256;
  std::string responses;      // how they were made, for people
  std::vector<int64_t> taps;  // 0-based decoder layers whose output is stored
  int64_t mask_token_id = 0;
  std::optional<int64_t> target_layers, hidden_size, vocab_size;  // of the target
  std::optional<int64_t> records, tokens, response_tokens;        // sequences; all of their tokens
  std::optional<double> looped_share;                             // of responses
  bool final_hidden = false;  // it keeps the target's final hidden states

  bool operator==(const StoreFacts&) const = default;
};

// What is not known is left out.
JsonObject to_json(const StoreFacts& facts);
StoreFacts store_facts_from_json(const Json& value, const std::string& where);

}  // namespace draftlab

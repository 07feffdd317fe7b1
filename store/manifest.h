#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "base/json.h"
#include "record/store_facts.h"

namespace draftlab {

// One record (sequence) of a store, as its manifest lists it.
struct RecordEntry {
  std::string prompt_id;
  int64_t length = 0;  // tokens, prompt and response, without padding
  int64_t prompt_length = 0;
  bool looped = false;  // its response was cut where it began to loop
  // Of its bytes (record_sha256, store/shard.h), so that a fault has an address.
  std::string sha256;
  std::string group;  // of its prompt in the prompt file; empty: none was given
};

struct ShardEntry {
  std::string file;  // name inside the store's folder
  std::string sha256;
  int64_t bytes = 0;
  std::vector<RecordEntry> records;
};

// Everything that gives the cached data its identity (docs/store_format.md).
struct StoreManifest {
  Json specification;               // the specification it was built from, as resolved
  std::string target_name;          // "SmolLM2-135M-Instruct"
  std::string target_architecture;  // "llama", "qwen2", "qwen3"
  // Where embedding and head are read from, absolute; "" for a made-up target.
  std::string target_file;
  // Of that file, or of the canonical description of a made-up target.
  std::string target_sha256;
  std::string tokenizer_sha256;
  int64_t target_layers = 0;
  int64_t hidden_size = 0;
  int64_t vocab_size = 0;
  int64_t mask_token_id = 0;
  // With one of which a response of this target ends; nothing in a store of an older version. What
  // they did is in the records, so that they add nothing to the identity.
  std::vector<int64_t> end_token_ids;
  std::vector<int64_t> taps;  // 0-based decoder layers whose OUTPUT is stored (z-lab's convention)
  std::string layer_id_convention = "output_of_layer";
  std::string final_norm_convention = "w";  // the target's final norm multiplies by w (not 1 + w)
  std::string tap_dtype = "bf16";
  std::string final_hidden;  // "after_final_norm", in bf16; "": not kept
  std::string responses;     // "greedy" or "temperature 0.7 seed 1", for people
  double looped_share = 0;   // of responses
  std::vector<ShardEntry> shards;

  int64_t records() const;
  int64_t tokens() const;
  int64_t response_tokens() const;
  int64_t bytes() const;
  std::vector<std::string> groups() const;  // of the prompts, record by record
  StoreFacts facts() const;                 // what others must know of it
  int64_t tap_width() const { return static_cast<int64_t>(taps.size()) * hidden_size; }
  int64_t final_hidden_width() const { return final_hidden.empty() ? 0 : hidden_size; }
  int64_t final_hidden_bytes() const { return 2 * final_hidden_width() * tokens(); }
  // Identity of the data: SHA-256 of the canonical manifest without target_file (where it lies does
  // not change what it is). 64 hex digits.
  std::string hash() const;
};

std::filesystem::path manifest_file(const std::filesystem::path& store_folder);
JsonObject to_json(const StoreManifest& manifest);
StoreManifest manifest_from_json(const Json& value, const std::string& where);  // throws Error
StoreManifest read_manifest(const std::filesystem::path& store_folder);         // throws Error
void write_manifest(const std::filesystem::path& store_folder, const StoreManifest& manifest);

}  // namespace draftlab

#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "base/json.h"

namespace draftlab {

// A random, tiny Llama for tests and smoke runs (target/made_up_checkpoint.cc): no download, same
// bits from the same seed.
struct MadeUpTarget {
  int64_t seed = 1;
  int64_t hidden_size = 32, layers = 4, heads = 2, kv_heads = 1, head_dim = 16;
  int64_t intermediate_size = 64, vocab_size = 128;
  double logit_scale = 4;  // about the standard deviation of the logits: more is more predictable
};

// Where the model being drafted for comes from.
struct TargetSource {
  std::string format;          // "gguf" (a file), "huggingface" (a folder) or "made_up"
  std::filesystem::path path;  // absolute; empty for a made-up target
  MadeUpTarget made_up;        // for "made_up"
};

// JSON lines of {"id", "prompt" (text) or "token_ids"}, or prompts of random tokens.
struct PromptSource {
  std::filesystem::path file;  // absolute; empty: made up
  int64_t count = 0;           // the first `count` of the file, or as many made-up ones
  int64_t tokens = 16;         // made up: the longest prompt; the shortest has half of it
  int64_t seed = 1;            // made up: of the tokens
};

struct ResponseOptions {
  int64_t max_tokens = 96;  // a response ends here, or with the target's end-of-text token
  double temperature = 0;   // 0: greedy
  int64_t seed = 1;         // of the sampling; every prompt has its own stream
  bool cut_loops = true;    // cut a response where it begins to repeat itself
};

// What a store is made from: SPEC.json of `draftlab store build` (docs/store_format.md).
struct StoreSpecification {
  std::string name;
  TargetSource target;
  std::vector<int64_t> taps;  // decoder layers, 0-based, whose output is stored; rising
  int64_t mask_token_id = 0;
  PromptSource prompts;
  ResponseOptions responses;
  // Keep the target's state behind its final norm too, from which its own probabilities follow.
  bool final_hidden = false;
  // Also the batch of the decoding, and what a killed build loses at most.
  int64_t sequences_per_shard = 64;
  int64_t threads = 1;  // of the build; part of the identity, since it can change rounding
};

// Reads and checks a specification: unknown keys, impossible values and missing prompt files are
// errors with the key's path. Relative paths start at the file's folder. Does not touch the target.
StoreSpecification read_store_specification(const std::filesystem::path& file);
StoreSpecification parse_store_specification(const Json& value, const std::string& where,
                                             const std::filesystem::path& folder);

// The section "target" alone.
TargetSource parse_target_source(const Json& value, const std::string& where,
                                 const std::filesystem::path& folder);
JsonObject to_json(const TargetSource& target);

// Every key resolved, absolute paths; parse_store_specification reads it back.
JsonObject to_json(const StoreSpecification& specification);

// The same as the data's identity: files by name and hash instead of by place.
JsonObject identity_json(const StoreSpecification& specification, const std::string& target_sha256,
                         const std::string& prompts_sha256);

// One line per key whose values differ: "responses.seed: 1 there, 2 here".
std::vector<std::string> differences(const Json& there, const Json& here);

}  // namespace draftlab

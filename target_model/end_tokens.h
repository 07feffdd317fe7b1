#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

#include "target_model/gguf.h"

namespace draftlab {

// The tokens with which a target's response ends: all that any part of the model's files calls an
// end, rising, each once. An instruct model often ends its turns with another token than its texts,
// named in one place alone. Throws Error for an id outside of the vocabulary.

// eos_token_id of config.json and generation_config.json, and the eos_token of
// tokenizer_config.json and special_tokens_map.json where tokenizer_config.json or tokenizer.json
// gives its id.
std::vector<int64_t> end_tokens(const std::filesystem::path& folder, int64_t vocab_size);

// Those of config.json alone.
std::vector<int64_t> end_tokens_of_config(const std::filesystem::path& folder, int64_t vocab_size);

// tokenizer.ggml.{eos,eot,eom}_token_id.
std::vector<int64_t> end_tokens(const GgufFile& file, int64_t vocab_size);

}  // namespace draftlab

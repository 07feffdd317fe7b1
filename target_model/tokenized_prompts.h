#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "store/prompts.h"
#include "target_model/checkpoint.h"

namespace draftlab {

// The prompts of a source as token ids of the target, texts in its chat template. Sets the SHA-256
// of the tokenizer where one was needed. Throws Error, naming file and prompt, for a text whose
// target brings no tokenizer, a token outside of the vocabulary, and a prompt that with a response
// of `max_tokens` is longer than the target's context.
std::vector<Prompt> tokenized_prompts(const PromptSource& source, const TargetSource& from,
                                      const TargetCheckpoint& target, int64_t max_tokens,
                                      std::string& tokenizer_sha256);

}  // namespace draftlab

#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "store/specification.h"

namespace draftlab {

struct Prompt {
  std::string id;
  std::string text;  // for the target's chat template; empty if token_ids are given
  std::vector<int32_t> token_ids;
  std::string group;  // of prompts that a split may keep together; empty: none was given
};

// The first `source.count` prompts of a file. Throws Error naming file and line for a broken line,
// an id given twice, groups of some prompts alone, or too few prompts. Lines hold {"id", "prompt"}
// or
// {"id", "token_ids"}, and all of them or none "group".
std::vector<Prompt> read_prompts(const PromptSource& source);

// Random prompts, a pure function of the source's seed, each of tokens/2 to `tokens` tokens below
// vocab_size.
std::vector<Prompt> made_up_prompts(const PromptSource& source, int64_t vocab_size);

}  // namespace draftlab

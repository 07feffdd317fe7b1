#include "target_model/tokenized_prompts.h"

#include <algorithm>

#include "base/error.h"
#include "target_model/gguf.h"
#include "target_model/tokenizer.h"

namespace draftlab {

std::vector<Prompt> tokenized_prompts(const PromptSource& source, const TargetSource& from,
                                      const TargetCheckpoint& target, int64_t max_tokens,
                                      std::string& tokenizer_sha256) {
  const TransformerConfig& config = target.config;
  std::vector<Prompt> prompts =
      source.file.empty() ? made_up_prompts(source, config.vocab_size) : read_prompts(source);
  if (std::any_of(prompts.begin(), prompts.end(),
                  [](const Prompt& prompt) { return !prompt.text.empty(); })) {
    if (from.format != "gguf") {
      throw Error(source.file.string(),
                  "holds texts, but only GGUF targets bring a tokenizer; give token_ids");
    }
    const Tokenizer tokenizer{GgufFile(target.file)};
    tokenizer_sha256 = tokenizer.sha256();
    for (Prompt& prompt : prompts) {
      if (!prompt.text.empty())
        prompt.token_ids = tokenizer.encode(tokenizer.chat_prompt(prompt.text));
    }
  }
  for (const Prompt& prompt : prompts) {
    const std::string where = source.file.string() + ": prompt " + prompt.id;
    const auto longest = static_cast<int64_t>(prompt.token_ids.size()) + max_tokens;
    if (longest > config.context_length) {
      throw Error(where, "with its response may have " + std::to_string(longest) +
                             " tokens, the target's context ends at " +
                             std::to_string(config.context_length) +
                             "; allow fewer tokens for responses, or leave it out");
    }
    for (const int32_t id : prompt.token_ids) {
      if (id >= config.vocab_size) {
        throw Error(where, "token " + std::to_string(id) +
                               " is outside of the target's vocabulary of " +
                               std::to_string(config.vocab_size));
      }
    }
  }
  return prompts;
}

}  // namespace draftlab

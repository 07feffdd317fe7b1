#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "target_model/gguf.h"

namespace draftlab {

// Byte-level byte-pair encoding as GPT-2 made it known, read from a GGUF file
// ("tokenizer.ggml.model" gpt2, "tokenizer.ggml.pre" smollm). A text is split on the control
// tokens; every character of category N is a piece of its own; each piece goes through GPT-2's
// expression by itself; its UTF-8 bytes, without those that have no token, are merged by rank.
// Nothing is added in front. Thread-safe once built.
class Tokenizer {
 public:
  explicit Tokenizer(const GgufFile& file);  // throws Error for other tokenizers, by name
  ~Tokenizer();
  Tokenizer(Tokenizer&&) noexcept;

  // Throws Error if the text is not valid UTF-8.
  std::vector<int32_t> encode(std::string_view text) const;
  // The bytes of the tokens; control tokens as their text. Throws Error for an id outside of the
  // vocabulary.
  std::string decode(std::span<const int32_t> ids) const;
  int64_t size() const { return static_cast<int64_t>(tokens_.size()); }

  // One user turn, ready for the assistant's answer: ChatML with the system line of SmolLM2's own
  // template. Throws Error if the file's template is another one.
  std::string chat_prompt(std::string_view user) const;

  // SHA-256 over tokens, their types, merges and the name of the splitting rule.
  const std::string& sha256() const { return sha256_; }

 private:
  struct Expressions;
  void encode_span(std::string_view text, std::vector<int32_t>& ids) const;
  void encode_word(std::string_view word, std::vector<int32_t>& ids) const;

  std::string where_;
  std::string chat_template_;
  std::vector<std::string> tokens_;  // raw bytes, no alphabet
  std::vector<bool> is_control_;
  std::vector<int32_t> control_ids_;  // longest text first
  int32_t byte_ids_[256];             // -1: no token
  // (left, right) -> (rank, merged id)
  std::unordered_map<uint64_t, std::pair<int32_t, int32_t>> merges_;
  std::unique_ptr<Expressions> expressions_;
  std::string sha256_;
};

}  // namespace draftlab

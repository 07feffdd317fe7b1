#include "target_model/tokenizer.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include <algorithm>

#include "base/error.h"
#include "base/hash.h"

namespace draftlab {
namespace {

// From the tokenizer of GPT-2 (Radford et al. 2019). Contractions are lower case only.
constexpr const char* kWords =
    R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";
constexpr const char* kNumberCharacter = R"(\p{N})";
// "tokenizer.chat_template" of SmolLM2-135M-Instruct has this system line for chats without their
// own.
constexpr const char* kSystemLine =
    "You are a helpful AI assistant named SmolLM, trained by Hugging Face";
constexpr int64_t kControlToken = 3;  // llama.cpp's token type

// One compiled expression. PCRE2's \s must know Unicode's spaces: PCRE2_UCP.
class Expression {
 public:
  explicit Expression(const char* pattern) {
    int error = 0;
    size_t offset = 0;
    code_ = pcre2_compile(reinterpret_cast<PCRE2_SPTR>(pattern), PCRE2_ZERO_TERMINATED,
                          PCRE2_UTF | PCRE2_UCP, &error, &offset, nullptr);
    if (code_ == nullptr) throw Error("PCRE2", std::string("cannot compile ") + pattern);
    pcre2_jit_compile(code_, PCRE2_JIT_COMPLETE);  // slower, but right, where there is no JIT
  }
  ~Expression() { pcre2_code_free(code_); }
  Expression(const Expression&) = delete;
  Expression& operator=(const Expression&) = delete;

  // Calls use(matched) and use_between(text before it) in order; the rest after the last match is
  // `between`.
  template <typename Use, typename UseBetween>
  void each(std::string_view text, const std::string& where, Use use,
            UseBetween use_between) const {
    const std::unique_ptr<pcre2_match_data, decltype(&pcre2_match_data_free)> match(
        pcre2_match_data_create(1, nullptr), &pcre2_match_data_free);
    size_t begin = 0;
    while (begin < text.size()) {
      const int found = pcre2_match(code_, reinterpret_cast<PCRE2_SPTR>(text.data()), text.size(),
                                    begin, 0, match.get(), nullptr);
      if (found == PCRE2_ERROR_NOMATCH) break;
      if (found < 0) throw Error(where, "this text is not valid UTF-8");
      const size_t* bounds = pcre2_get_ovector_pointer(match.get());
      if (bounds[0] > begin) use_between(text.substr(begin, bounds[0] - begin));
      use(text.substr(bounds[0], bounds[1] - bounds[0]));
      begin = bounds[1];
    }
    if (begin < text.size()) use_between(text.substr(begin));
  }

 private:
  pcre2_code* code_;
};

// GPT-2 writes every byte as one printable character: printable Latin-1 stands for itself, the
// others are shifted to U+0100 and up in their order.
std::unordered_map<char32_t, uint8_t> byte_alphabet() {
  std::unordered_map<char32_t, uint8_t> bytes;
  char32_t shifted = 0x100;
  for (int b = 0; b < 256; ++b) {
    const bool printable = (b >= 0x21 && b <= 0x7e) || (b >= 0xa1 && b <= 0xac) || b >= 0xae;
    bytes[printable ? static_cast<char32_t>(b) : shifted++] = static_cast<uint8_t>(b);
  }
  return bytes;
}

// Back from the alphabet to bytes. Only characters of one and two UTF-8 bytes can occur.
std::string raw_bytes(std::string_view text, const std::string& where) {
  static const std::unordered_map<char32_t, uint8_t> alphabet = byte_alphabet();
  std::string bytes;
  for (size_t i = 0; i < text.size(); ++i) {
    char32_t character = static_cast<uint8_t>(text[i]);
    if (character >= 0xc0 && character < 0xe0 && i + 1 < text.size()) {
      character = (character & 0x1f) << 6 | (static_cast<uint8_t>(text[++i]) & 0x3f);
    }
    const auto found = alphabet.find(character);
    if (found == alphabet.end())
      throw Error(where, "'" + std::string(text) + "' is no byte-level token");
    bytes += static_cast<char>(found->second);
  }
  return bytes;
}

uint64_t pair_key(int32_t left, int32_t right) {
  return uint64_t{static_cast<uint32_t>(left)} << 32 | static_cast<uint32_t>(right);
}

}  // namespace

struct Tokenizer::Expressions {
  Expression words{kWords};
  Expression number_character{kNumberCharacter};
};

Tokenizer::Tokenizer(const GgufFile& file)
    : where_(file.file().string()), expressions_(std::make_unique<Expressions>()) {
  const std::string model = file.text("tokenizer.ggml.model"),
                    rule = file.text("tokenizer.ggml.pre");
  if (model != "gpt2" || rule != "smollm") {
    throw Error(where_, "has the tokenizer '" + model + "/" + rule +
                            "'; only 'gpt2/smollm' is known; give prompts as token_ids");
  }
  const std::vector<std::string>& written = file.texts("tokenizer.ggml.tokens");
  const std::vector<int64_t>& types = file.integers("tokenizer.ggml.token_type");
  const std::vector<std::string>& merges = file.texts("tokenizer.ggml.merges");
  if (types.size() != written.size())
    throw Error(where_, "has another number of token types than of tokens");
  chat_template_ = file.has("tokenizer.chat_template") ? file.text("tokenizer.chat_template") : "";

  Sha256 sum;
  const auto add_to_sum = [&](const std::string& text) { sum.add(text.c_str(), text.size() + 1); };
  add_to_sum(model + "/" + rule);

  std::unordered_map<std::string, int32_t> ids;  // as written, in the alphabet
  std::fill(std::begin(byte_ids_), std::end(byte_ids_), -1);
  for (size_t i = 0; i < written.size(); ++i) {
    const auto id = static_cast<int32_t>(i);
    is_control_.push_back(types[i] == kControlToken);
    tokens_.push_back(is_control_[i] ? written[i] : raw_bytes(written[i], where_));
    if (is_control_[i]) {
      control_ids_.push_back(id);
    } else {
      ids.emplace(written[i], id);
      if (tokens_[i].size() == 1) byte_ids_[static_cast<uint8_t>(tokens_[i][0])] = id;
    }
    add_to_sum(written[i]);
    add_to_sum(std::to_string(types[i]));
  }
  std::stable_sort(control_ids_.begin(), control_ids_.end(),
                   [&](int32_t a, int32_t b) { return tokens_[a].size() > tokens_[b].size(); });
  for (size_t rank = 0; rank < merges.size(); ++rank) {
    const size_t space = merges[rank].find(' ');
    const auto left = ids.find(merges[rank].substr(0, space));
    const auto right = ids.find(space == std::string::npos ? "" : merges[rank].substr(space + 1));
    if (left == ids.end() || right == ids.end())
      throw Error(where_, "cannot use the merge '" + merges[rank] + "'");
    const auto merged = ids.find(left->first + right->first);
    if (merged == ids.end())
      throw Error(where_, "has no token for the merge '" + merges[rank] + "'");
    merges_.emplace(pair_key(left->second, right->second),
                    std::pair(static_cast<int32_t>(rank), merged->second));
    add_to_sum(merges[rank]);
  }
  sha256_ = sum.hex();
}

Tokenizer::~Tokenizer() = default;
Tokenizer::Tokenizer(Tokenizer&&) noexcept = default;

std::vector<int32_t> Tokenizer::encode(std::string_view text) const {
  std::vector<int32_t> ids;
  size_t begin = 0;
  for (size_t i = 0; i < text.size();) {
    const auto found = std::find_if(control_ids_.begin(), control_ids_.end(), [&](int32_t id) {
      return text.substr(i).starts_with(tokens_[id]);
    });
    if (found == control_ids_.end()) {
      ++i;
      continue;
    }
    encode_span(text.substr(begin, i - begin), ids);
    ids.push_back(*found);
    begin = i += tokens_[*found].size();
  }
  encode_span(text.substr(begin), ids);
  return ids;
}

// Text without control tokens.
void Tokenizer::encode_span(std::string_view text, std::vector<int32_t>& ids) const {
  // Each piece is matched as a subject of its own: the lookahead of \s+(?!\S) must see the piece's
  // end.
  const auto words = [&](std::string_view piece) {
    const auto word = [&](std::string_view w) { encode_word(w, ids); };
    expressions_->words.each(piece, where_, word, word);
  };
  expressions_->number_character.each(text, where_, words, words);
}

// Byte-pair encoding of one word: the adjacent pair of lowest rank is merged, leftmost first, until
// none is left.
void Tokenizer::encode_word(std::string_view word, std::vector<int32_t>& ids) const {
  std::vector<int32_t> parts;
  for (const char byte : word) {
    const int32_t id = byte_ids_[static_cast<uint8_t>(byte)];
    if (id >= 0) parts.push_back(id);
  }
  while (parts.size() > 1) {
    size_t best = parts.size();
    std::pair<int32_t, int32_t> merge{};
    for (size_t i = 0; i + 1 < parts.size(); ++i) {
      const auto found = merges_.find(pair_key(parts[i], parts[i + 1]));
      if (found != merges_.end() && (best == parts.size() || found->second.first < merge.first)) {
        best = i;
        merge = found->second;
      }
    }
    if (best == parts.size()) break;
    parts[best] = merge.second;
    parts.erase(parts.begin() + static_cast<std::ptrdiff_t>(best) + 1);
  }
  ids.insert(ids.end(), parts.begin(), parts.end());
}

std::string Tokenizer::decode(std::span<const int32_t> ids) const {
  std::string text;
  for (const int32_t id : ids) {
    if (id < 0 || id >= size()) throw Error(where_, "has no token " + std::to_string(id));
    text += tokens_[id];
  }
  return text;
}

std::string Tokenizer::chat_prompt(std::string_view user) const {
  if (chat_template_.find(kSystemLine) == std::string::npos ||
      chat_template_.find("<|im_start|>") == std::string::npos) {
    throw Error(where_, "has a chat template that is not known; give prompts as token_ids");
  }
  return std::string("<|im_start|>system\n") + kSystemLine + "<|im_end|>\n<|im_start|>user\n" +
         std::string(user) + "<|im_end|>\n<|im_start|>assistant\n";
}

}  // namespace draftlab

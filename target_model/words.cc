#include "target_model/words.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include <algorithm>
#include <memory>

#include "base/error.h"

namespace draftlab {
namespace {

constexpr const char* kWord =
    R"([\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}]\p{M}*)"
    R"(|(?:(?![\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}])[\p{L}\p{M}\p{N}])+)";

using Code = std::unique_ptr<pcre2_code, decltype(&pcre2_code_free)>;

Code compiled() {
  int error = 0;
  size_t offset = 0;
  Code code(
      pcre2_compile(reinterpret_cast<PCRE2_SPTR>(kWord), PCRE2_ZERO_TERMINATED,
                    PCRE2_UTF | PCRE2_UCP | PCRE2_MATCH_INVALID_UTF, &error, &offset, nullptr),
      &pcre2_code_free);
  if (code == nullptr) throw Error("PCRE2", std::string("cannot compile ") + kWord);
  pcre2_jit_compile(code.get(), PCRE2_JIT_COMPLETE);  // slower, but right, where there is no JIT
  return code;
}

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

}  // namespace

std::vector<std::string> words_of(std::string_view text) {
  static const Code code = compiled();
  const std::unique_ptr<pcre2_match_data, decltype(&pcre2_match_data_free)> match(
      pcre2_match_data_create(1, nullptr), &pcre2_match_data_free);
  std::vector<std::string> words;
  for (size_t begin = 0; begin < text.size();) {
    const int found = pcre2_match(code.get(), reinterpret_cast<PCRE2_SPTR>(text.data()),
                                  text.size(), begin, 0, match.get(), nullptr);
    if (found < 0) break;
    const size_t* bounds = pcre2_get_ovector_pointer(match.get());
    std::string word(text.substr(bounds[0], bounds[1] - bounds[0]));
    std::ranges::transform(word, word.begin(), lower);
    words.push_back(std::move(word));
    begin = bounds[1];
  }
  return words;
}

}  // namespace draftlab

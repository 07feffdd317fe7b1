#include "decode/answer_text.h"

#include <string_view>

namespace draftlab {
namespace {

constexpr char kNoCharacter[] = "\xEF\xBF\xBD";

// Bytes of the character that this one begins; 0: none begins here.
size_t bytes_of_character(unsigned char first) {
  if (first < 0x80) return 1;
  if (first >= 0xC2 && first < 0xE0) return 2;
  if (first >= 0xE0 && first < 0xF0) return 3;
  if (first >= 0xF0 && first < 0xF5) return 4;
  return 0;
}

bool is_rest(unsigned char byte) { return (byte & 0xC0) == 0x80; }

// Takes whole characters off the front of `bytes`; what may still become one stays.
std::string take_characters(std::string& bytes, bool all) {
  std::string text;
  size_t i = 0;
  while (i < bytes.size()) {
    const size_t length = bytes_of_character(static_cast<unsigned char>(bytes[i]));
    size_t have = 1;
    while (have < length && i + have < bytes.size() &&
           is_rest(static_cast<unsigned char>(bytes[i + have])))
      ++have;
    if (length > 0 && have == length) {
      text += bytes.substr(i, length);
    } else if (length > 0 && i + have == bytes.size() && !all) {
      break;
    } else {
      text += kNoCharacter;
    }
    i += have;
  }
  bytes.erase(0, i);
  return text;
}

}  // namespace

std::vector<DecodedPiece> answer_text(const DecodedAnswer& answer,
                                      const std::function<std::string(int32_t)>& decode) {
  std::vector<bool> drafted(answer.tokens.size());
  size_t token = 1;  // the prompt's pass gives the first
  for (const DecodedAnswer::Pass& pass : answer.passes) {
    for (int64_t i = 0; i < pass.drafted; ++i) drafted[token + i] = true;
    token += pass.tokens;
  }
  std::vector<DecodedPiece> pieces;
  std::string bytes;
  for (size_t i = 0; i < answer.tokens.size(); ++i) {
    bytes += decode(answer.tokens[i]);
    const std::string text = take_characters(bytes, i + 1 == answer.tokens.size());
    if (text.empty()) continue;
    if (pieces.empty() || pieces.back().drafted != drafted[i]) pieces.push_back({"", drafted[i]});
    pieces.back().text += text;
  }
  return pieces;
}

}  // namespace draftlab

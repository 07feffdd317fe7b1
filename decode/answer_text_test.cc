#include "decode/answer_text.h"

#include <gmock/gmock.h>

namespace draftlab {
namespace {

std::string pieces_text(const DecodedAnswer& answer, const std::vector<std::string>& bytes) {
  std::string text;
  for (const DecodedPiece& piece :
       answer_text(answer, [&](int32_t token) { return bytes.at(token); }))
    text += (piece.drafted ? "[" : "(") + piece.text + (piece.drafted ? "]" : ")");
  return text;
}

TEST(AnswerText, MarksWhatTheDrafterProposed) {
  // The first token is the prompt's pass's; then two drafted and one of the target, then none
  // drafted, then one at the end of the answer.
  const DecodedAnswer answer{{0, 1, 2, 3, 4, 5}, {{3, 2}, {1, 0}, {1, 1}}};
  EXPECT_EQ(pieces_text(answer, {"a", "b", "c", "d", "e", "f"}), "(a)[bc](de)[f]");
}

TEST(AnswerText, ACharacterOfSeveralTokensIsTheLastOnesAndNoByteIsLost) {
  const DecodedAnswer answer{{0, 1, 2, 3}, {{2, 1}, {1, 1}}};
  EXPECT_EQ(pieces_text(answer, {"x", "\xC3", "\xB6y", "z"}), "(xöy)[z]");
  EXPECT_EQ(pieces_text(answer, {"x", "\xFF", "\xE2\x82", "\xAC"}), "(x)[\xEF\xBF\xBD€]");
  EXPECT_EQ(pieces_text(answer, {"x", "y", "z", "\xE2\x82"}), "(x)[y](z)[\xEF\xBF\xBD]");
}

}  // namespace
}  // namespace draftlab

#include "target_model/words.h"

#include <gmock/gmock.h>

namespace draftlab {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(Words, AreRunsOfLettersAndDigitsWhateverTheirCase) {
  EXPECT_THAT(words_of("How do I make 2 pizzas,\nstep-by-step?"),
              ElementsAre("how", "do", "i", "make", "2", "pizzas", "step", "by", "step"));
  EXPECT_THAT(words_of("  ?! -- "), IsEmpty());
  EXPECT_THAT(words_of(""), IsEmpty());
}

TEST(Words, OfScriptsWithoutSpacesAreCharacters) {
  EXPECT_THAT(words_of("如何 make 饺子？"), ElementsAre("如", "何", "make", "饺", "子"));
  EXPECT_THAT(words_of("caf\u00e9 \u201cna\u00efve\u201d"), ElementsAre("caf\u00e9", "na\u00efve"));
}

TEST(Words, AreSeparatedByBytesThatAreNoText) {
  EXPECT_THAT(words_of("a\xff"
                       "b \xe5\xa6"),
              ElementsAre("a", "b"));
}

}  // namespace
}  // namespace draftlab

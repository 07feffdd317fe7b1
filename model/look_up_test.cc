#include "model/look_up.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/random.h"
#include "testing/owned_record.h"

namespace draftlab {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using Text = std::vector<int32_t>;

// Every earlier end, token by token.
Text plain_look_up(const Text& text, int64_t count) {
  int64_t longest = 0, best = -1;
  const auto last = std::ssize(text) - 1;
  for (int64_t end = 0; end < last; ++end) {
    int64_t length = 0;
    while (length <= end && text[end - length] == text[last - length]) ++length;
    if (length > 0 && length >= longest) longest = length, best = end;
  }
  if (best < 0) return {};
  Text all = text;
  for (int64_t i = 0; i < count; ++i) all.push_back(all[best + 1 + i]);
  return {all.begin() + std::ssize(text), all.end()};
}

TEST(LookUp, GoesOnAsBehindTheLongestSuffixThatWasThereBefore) {
  EXPECT_THAT(look_up(Text{7, 1, 2, 3, 9, 2, 4, 1, 2}, 3), ElementsAre(3, 9, 2))
      << "\"1 2\" and not the later \"2\"";
}

TEST(LookUp, TakesTheLatestOfEquallyLongSuffixes) {
  EXPECT_THAT(look_up(Text{1, 5, 1, 6, 1}, 2), ElementsAre(6, 1));
}

TEST(LookUp, RepeatsARepetitionPastTheEndOfTheText) {
  EXPECT_THAT(look_up(Text{8, 1, 2, 1, 2}, 5), ElementsAre(1, 2, 1, 2, 1));
  EXPECT_THAT(look_up(Text{4, 4}, 3), ElementsAre(4, 4, 4));
}

TEST(LookUp, ProposesNothingBehindANewToken) {
  EXPECT_THAT(look_up(Text{1, 2, 1, 3}, 4), IsEmpty());
  EXPECT_THAT(look_up(Text{1}, 4), IsEmpty());
  EXPECT_THAT(look_up(Text{}, 4), IsEmpty());
}

TEST(LookUp, EqualsComparingEveryPlace) {
  Random random(11, "texts");
  for (int i = 0; i < 300; ++i) {
    Text text(random.below(40));
    const uint64_t vocabulary = 1 + random.below(4);
    for (int32_t& token : text) token = static_cast<int32_t>(random.below(vocabulary));
    ASSERT_EQ(look_up(text, 6), plain_look_up(text, 6));
  }
}

TEST(LookUp, OfStoredTextSeesNothingBehindTheAnchorAndAllBeforeIt) {
  const OwnedRecord a({1, 2, 3, 1, 2, 9}, {0, 0, 0, 1, 1, 1});  // the prompt is no label
  const std::vector<AnchoredSequence> sequences = {{a.view(), {2, 3}}, {a.view(), {4}}};
  EXPECT_THAT(look_up_drafts(sequences, 4), ElementsAre(-1, -1, -1, -1,  //
                                                        -1, 2, 3, 1,     //
                                                        -1, 3, 1, 2));
}

}  // namespace
}  // namespace draftlab

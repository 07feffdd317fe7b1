#include "train/near_copies.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <set>

#include "base/random.h"

namespace draftlab {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(NearCopies, APromptThatSharesThreeFifthsOfTheWordsOfBothIsOne) {
  const std::vector<WordSet> training = {{1, 2, 3, 4}, {50, 51, 52, 53}, {60, 61, 62, 63}};
  EXPECT_THAT(near_copies(training, {{1, 2, 3, 5},  // 3 of 5
                                     {1, 2, 5, 6},  // 2 of 6
                                     {1, 2, 3, 4},  // the same
                                     {90, 91}}),
              ElementsAre(1, 0, 1, 0));
  EXPECT_THAT(near_copies({}, {{1, 2}}), ElementsAre(0));
}

TEST(NearCopies, AChainOfThemIsOneGroup) {
  EXPECT_THAT(groups_of_near_copies({{1, 2, 3, 4},
                                     {20, 21},
                                     {3, 4, 5, 6},  // near the last one, but not the first
                                     {1, 2, 3, 4},
                                     {2, 3, 4, 5}}),
              ElementsAre(0, 1, 0, 0, 0));
  EXPECT_THAT(groups_of_near_copies({}), IsEmpty());
}

// Every pair is compared here, in sets and shares of whole numbers.
TEST(NearCopies, AreThoseThatComparingEveryPairFinds) {
  std::vector<WordSet> prompts;
  for (int64_t i = 0; i < 300; ++i) {
    Random random(3, "prompt", i);
    std::set<int64_t> words;
    const int64_t kind = random.below(12), size = 1 + random.below(14);
    for (int64_t k = 0; k < size; ++k)
      words.insert(random.below(5) == 0 ? 1000 + random.below(60) : 20 * kind + random.below(9));
    prompts.emplace_back(words.begin(), words.end());
  }
  const auto near = [](const WordSet& a, const WordSet& b) {
    std::vector<int64_t> both, either;
    std::ranges::set_intersection(a, b, std::back_inserter(both));
    std::ranges::set_union(a, b, std::back_inserter(either));
    return 5 * both.size() >= 3 * either.size();
  };
  const std::vector<WordSet> training(prompts.begin(), prompts.begin() + 200),
      held_out(prompts.begin() + 200, prompts.end());
  std::vector<int64_t> expected;
  for (const WordSet& words : held_out)
    expected.push_back(
        std::ranges::any_of(training, [&](const WordSet& other) { return near(words, other); }));
  EXPECT_EQ(near_copies(training, held_out), expected);
  EXPECT_GT(std::ranges::count(expected, 1), 10);
  EXPECT_GT(std::ranges::count(expected, 0), 10);

  std::vector<int64_t> group(prompts.size());
  for (size_t i = 0; i < prompts.size(); ++i) {
    group[i] = static_cast<int64_t>(i);
    for (size_t j = 0; j < i; ++j) {
      if (!near(prompts[i], prompts[j])) continue;
      const auto [low, high] = std::minmax(group[i], group[j]);
      const int64_t to = low, from = high;
      for (size_t k = 0; k <= i; ++k)
        if (group[k] == from) group[k] = to;
    }
  }
  EXPECT_EQ(groups_of_near_copies(prompts), group);
}

}  // namespace
}  // namespace draftlab

#include "record/choice.h"

#include <gmock/gmock.h>

#include <cmath>

namespace draftlab {
namespace {

using ::testing::ElementsAre;

TEST(Choice, TheBestValueWinsInTheMetricsOwnDirection) {
  const std::vector<Candidate> candidates = {{0, 0, 1.2, 5}, {1, 0, 1.4, 6}, {2, 0, 1.3, 4}};
  EXPECT_EQ(choose(candidates, false)->best, 1u);
  EXPECT_EQ(choose(candidates, true)->best, 0u);
  EXPECT_FALSE(choose(candidates, false)->is_tie());
  EXPECT_TRUE(lower_is_better("val_loss"));
  EXPECT_FALSE(lower_is_better(kUsualMetric));
}

TEST(Choice, ADivergedRunComesBeforeEveryNumber) {
  EXPECT_EQ(choose({{0, 1, 9, 1}, {1, 0, 1, 9}}, false)->best, 1u);
  EXPECT_EQ(choose({{0, 2, 9, 1}, {1, 1, 1, 9}, {2, 3, 9, 1}}, false)->best, 1u);
}

TEST(Choice, TheLowerLossBreaksATieWhateverTheMetric) {
  const std::vector<Candidate> candidates = {{0, 0, 1, 4.9}, {1, 0, 1, 4.8}, {2, 0, .9, 1}};
  const Choice choice = *choose(candidates, false);
  EXPECT_EQ(choice.best, 1u);
  EXPECT_THAT(choice.tied, ElementsAre(0, 1));
  EXPECT_TRUE(choice.by_loss);
}

TEST(Choice, TheEarlierPlaceBreaksATieOfTheLossesTooInWhateverOrderTheyAreGiven) {
  const std::vector<Candidate> candidates = {{5, 0, 1, 4}, {3, 0, 1, 4}, {4, 0, 1, 4}};
  const Choice choice = *choose(candidates, false);
  EXPECT_EQ(choice.best, 1u);
  EXPECT_THAT(choice.tied, ElementsAre(1, 2, 0));
  EXPECT_FALSE(choice.by_loss);
}

TEST(Choice, ALossThatTwoShareDecidesNothingBetweenThem) {
  const Choice choice = *choose({{0, 0, 1, 5}, {1, 0, 1, 4}, {2, 0, 1, 4}}, false);
  EXPECT_EQ(choice.best, 1u);
  EXPECT_FALSE(choice.by_loss) << "the place did";
}

TEST(Choice, AsManyNumbersButMoreDivergedRunsAreNoTie) {
  EXPECT_THAT(choose({{0, 0, 1, 4}, {1, 1, 1, 3}}, false)->tied, ElementsAre(0));
}

TEST(Choice, ANotANumberIsNeverBestAndNeverBreaksATie) {
  EXPECT_EQ(choose({{0, 0, NAN, 1}, {1, 2, 1, 9}}, false)->best, 1u);
  EXPECT_EQ(choose({{0, 0, NAN, 1}, {1, 2, 1, 9}}, true)->best, 1u);
  EXPECT_EQ(choose({{0, 0, 1, NAN}, {1, 0, 1, 9}}, false)->best, 1u);
  EXPECT_EQ(choose({{0, 0, 1, NAN}, {1, 0, 1, NAN}}, false)->best, 0u);
  EXPECT_EQ(choose({{0, 0, NAN, 1}, {1, 1, NAN, 1}}, false), std::nullopt);
  EXPECT_EQ(choose({}, false), std::nullopt);
}

TEST(Choice, AMeanHasTheSameBitsInEveryOrder) {
  std::vector<double> values = {.1, .2, .3, 1e9, 7, .123456789};
  const double mean = mean_of(values);
  do EXPECT_EQ(mean_of(values), mean);
  while (std::ranges::next_permutation(values).found);
  EXPECT_EQ(mean_of({1, 2, 6}), 3);
  EXPECT_TRUE(std::isnan(mean_of({})));
  EXPECT_TRUE(std::isnan(mean_of({NAN, 1, 2})));
  EXPECT_TRUE(std::isnan(mean_of({1, 2, NAN})));
}

}  // namespace
}  // namespace draftlab

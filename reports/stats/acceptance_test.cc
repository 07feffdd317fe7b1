#include "reports/stats/acceptance.h"

#include <gmock/gmock.h>

#include <cmath>

#include "base/random.h"

namespace draftlab {
namespace {

TEST(AcceptanceLength, ThreeDefinitionsDifferOnTheSameBlocks) {
  // Four blocks of three slots: 111, 110, 000, 001. Slots: 1/2, 1/2, 1/2; prefixes: 1/2, 1/2, 1/4.
  EXPECT_DOUBLE_EQ(joint_acceptance_length({0.5, 0.5, 0.25}), 2.25);
  EXPECT_DOUBLE_EQ(product_acceptance_length({0.5, 0.5, 0.5}), 1.875);
  EXPECT_DOUBLE_EQ(marginal_accuracy({0.5, 0.5, 0.5}), 0.5);
}

TEST(AcceptanceLength, OfNoSlotsIsTheTokenOfTheTargetAlone) {
  EXPECT_EQ(joint_acceptance_length({}), 1);
  EXPECT_EQ(product_acceptance_length({}), 1);
  EXPECT_TRUE(std::isnan(marginal_accuracy({})));
}

const std::vector<int64_t> kBlocks = {10, 20, 30, 8, 16, 12};
const std::vector<int64_t> kMatches = {10, 5, 15, 8, 4, 9};

TEST(PromptMean, PoolsBlocksOrAveragesPrompts) {
  EXPECT_DOUBLE_EQ(pooled_acceptance_length(kBlocks, kMatches).value, 1 + 51.0 / 96);
  EXPECT_DOUBLE_EQ(per_prompt_acceptance_length(kBlocks, kMatches).value,
                   1 + (1 + 0.25 + 0.5 + 1 + 0.25 + 0.75) / 6);
  EXPECT_EQ(pooled_acceptance_length(kBlocks, kMatches).prompts, 6);
}

TEST(PromptMean, DoesNotDependOnTheOrderOfPrompts) {
  const PromptMean a = pooled_acceptance_length(kBlocks, kMatches);
  const PromptMean b = pooled_acceptance_length({12, 16, 8, 30, 20, 10}, {9, 4, 8, 15, 5, 10});
  EXPECT_EQ(a.value, b.value);
  EXPECT_EQ(a.low, b.low);
  EXPECT_EQ(a.high, b.high);
  EXPECT_LT(a.low, a.value);
  EXPECT_GT(a.high, a.value);
}

TEST(PromptMean, TenTimesTheBlocksOfTheSamePromptsMakesNoNarrowerInterval) {
  std::vector<int64_t> blocks = kBlocks, matches = kMatches;
  for (auto& n : blocks) n *= 10;
  for (auto& n : matches) n *= 10;
  const PromptMean few = pooled_acceptance_length(kBlocks, kMatches);
  const PromptMean many = pooled_acceptance_length(blocks, matches);
  EXPECT_NEAR(few.low, many.low, 1e-12);
  EXPECT_NEAR(few.high, many.high, 1e-12);
}

TEST(PromptMean, LeavesOutPromptsWithoutABlockAndOnlyThose) {
  std::vector<int64_t> blocks = kBlocks, matches = kMatches;
  blocks.push_back(0);
  matches.push_back(0);
  EXPECT_EQ(pooled_acceptance_length(blocks, matches).low,
            pooled_acceptance_length(kBlocks, kMatches).low);
  EXPECT_EQ(per_prompt_acceptance_length(blocks, matches).prompts, 6);
  blocks.push_back(10);  // no match in ten blocks is a number
  matches.push_back(0);
  EXPECT_DOUBLE_EQ(pooled_acceptance_length(blocks, matches).value, 1 + 51.0 / 106);
}

TEST(PromptMean, HasNoIntervalBelowFivePromptsAndNoValueWithoutOne) {
  const PromptMean four = pooled_acceptance_length({10, 20, 30, 8}, {10, 5, 15, 8});
  EXPECT_FALSE(std::isnan(four.value));
  EXPECT_TRUE(std::isnan(four.low) && std::isnan(four.high));
  EXPECT_TRUE(std::isnan(pooled_acceptance_length({}, {}).value));
  EXPECT_TRUE(std::isnan(per_prompt_acceptance_length({0, 0}, {0, 0}).value));
}

TEST(PromptMean, OfEqualPromptsIsCertain) {
  const PromptMean equal = pooled_acceptance_length({10, 20, 10, 30, 10}, {3, 6, 3, 9, 3});
  EXPECT_DOUBLE_EQ(equal.low, 1.3);
  EXPECT_DOUBLE_EQ(equal.high, 1.3);
}

// Prompts whose matches are likelier in longer responses, as in code: the hard case for a ratio.
struct Draw {
  std::vector<int64_t> blocks, matches;
};
Draw draw(int64_t prompts, Random& random) {
  Draw result;
  for (int64_t i = 0; i < prompts; ++i) {
    const double u = random.uniform(), chance = 0.1 + 0.5 * u * u * u;
    const int64_t blocks = 8 + static_cast<int64_t>(30 * chance + 20 * random.uniform());
    int64_t matches = 0;
    for (int64_t block = 0; block < blocks; ++block) {
      for (int slot = 0; slot < 7 && random.uniform() < chance; ++slot) ++matches;
    }
    result.blocks.push_back(blocks);
    result.matches.push_back(matches);
  }
  return result;
}

TEST(PromptMean, NinetyFivePercentIntervalsCoverAboutThatOften) {
  Random truth_stream(3, "truth");
  const Draw many = draw(400000, truth_stream);
  double blocks = 0, matches = 0, per_prompt = 1;
  for (size_t i = 0; i < many.blocks.size(); ++i) {
    blocks += static_cast<double>(many.blocks[i]);
    matches += static_cast<double>(many.matches[i]);
    per_prompt += static_cast<double>(many.matches[i]) / static_cast<double>(many.blocks[i]) /
                  static_cast<double>(many.blocks.size());
  }
  const double pooled = 1 + matches / blocks;
  constexpr int kDraws = 1000;
  int held_pooled = 0, held_per_prompt = 0;
  for (int i = 0; i < kDraws; ++i) {
    Random random(5, "prompts", static_cast<uint64_t>(i));
    const Draw sample = draw(36, random);
    const PromptMean a = pooled_acceptance_length(sample.blocks, sample.matches);
    const PromptMean b = per_prompt_acceptance_length(sample.blocks, sample.matches);
    held_pooled += a.low <= pooled && pooled <= a.high;
    held_per_prompt += b.low <= per_prompt && per_prompt <= b.high;
  }
  EXPECT_GT(held_pooled, 0.92 * kDraws);
  EXPECT_LT(held_pooled, 0.97 * kDraws);
  EXPECT_GT(held_per_prompt, 0.93 * kDraws);
  EXPECT_LT(held_per_prompt, 0.97 * kDraws);
  RecordProperty("pooled", held_pooled);
  RecordProperty("per_prompt", held_per_prompt);
}

}  // namespace
}  // namespace draftlab

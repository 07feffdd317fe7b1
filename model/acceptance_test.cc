#include "model/acceptance.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

namespace draftlab {
namespace {

using testing::ElementsAre;

// Blocks of 1 + 2 slots; every label is 1, so an id of 1 is right.
Acceptance count(const std::vector<std::vector<int64_t>>& slots, std::vector<int64_t> prompts) {
  std::vector<int64_t> ids, labels;
  for (const auto& block : slots) {
    ids.push_back(-1);
    labels.push_back(-1);
    for (int64_t id : block) {
      ids.push_back(id);
      labels.push_back(1);
    }
  }
  AcceptanceCounter counter(static_cast<int64_t>(slots[0].size()) + 1);
  counter.add(ids, labels, prompts);
  return counter.result();
}

TEST(Acceptance, IsCountedJointlyNotAsAProductOfSlotAccuracies) {
  // Errors come together: both slots right in half of the blocks, both wrong in the other half. The
  // product of the slot accuracies would say that a quarter of the blocks is all right.
  const Acceptance together = count({{1, 1}, {1, 1}, {0, 0}, {0, 0}}, {0, 0, 0, 0});
  EXPECT_THAT(together.slot_accuracy, ElementsAre(0.5, 0.5));
  EXPECT_THAT(together.prefix_share, ElementsAre(0.5, 0.5));
  EXPECT_EQ(together.acceptance_length, 2.0);
  // The same slot accuracies where they never meet.
  const Acceptance apart = count({{1, 0}, {1, 0}, {0, 1}, {0, 1}}, {0, 0, 0, 0});
  EXPECT_THAT(apart.slot_accuracy, ElementsAre(0.5, 0.5));
  EXPECT_THAT(apart.prefix_share, ElementsAre(0.5, 0.0));
  EXPECT_EQ(apart.acceptance_length, 1.5);
}

TEST(Acceptance, TheFreeTokenCounts) {
  EXPECT_EQ(count({{0, 1, 1}}, {0}).acceptance_length, 1.0);
  EXPECT_EQ(count({{1, 1, 1}}, {0}).acceptance_length, 4.0);
}

TEST(Acceptance, AMissingIdOrLabelIsNeverRight) {
  AcceptanceCounter counter(3);
  counter.add(std::vector<int64_t>{-1, -1, 1}, std::vector<int64_t>{-1, -1, 1},
              std::vector<int64_t>{0});
  EXPECT_EQ(counter.result().acceptance_length, 1.0);
  EXPECT_THAT(counter.result().slot_accuracy, ElementsAre(0.0, 1.0));
}

TEST(Acceptance, PromptsCountEquallyInTheirOwnMean) {
  // Prompt 4 has three blocks of length 3, prompt 9 one of length 1.
  const Acceptance result = count({{1, 1}, {1, 1}, {1, 1}, {0, 0}}, {4, 4, 4, 9});
  EXPECT_EQ(result.blocks, 4);
  EXPECT_EQ(result.prompts, 2);
  EXPECT_EQ(result.acceptance_length, 2.5);
  EXPECT_EQ(result.acceptance_length_per_prompt, 2.0);
}

TEST(Acceptance, AddsUpOverBatches) {
  AcceptanceCounter counter(2);
  for (int64_t prompt : {0, 1, 0})
    counter.add(std::vector<int64_t>{-1, prompt}, std::vector<int64_t>{-1, 1},
                std::vector<int64_t>{prompt});
  EXPECT_EQ(counter.result().blocks, 3);
  EXPECT_EQ(counter.result().prompts, 2);
  EXPECT_NEAR(counter.result().acceptance_length, 1 + 1.0 / 3, 1e-15);
}

TEST(Acceptance, OfNoBlocksIsNotANumber) {
  EXPECT_TRUE(std::isnan(AcceptanceCounter(3).result().acceptance_length));
}

TEST(ExpectedAcceptance, MultipliesAlongEachBlockBeforeItAverages) {
  ExpectedAcceptanceCounter counter(3);
  EXPECT_TRUE(std::isnan(counter.result().length));
  counter.add(std::vector<double>{NAN, 0.5, 0.8});
  counter.add(std::vector<double>{NAN, 1, 0, NAN, 0.25, 1});
  const ExpectedAcceptance result = counter.result();
  EXPECT_THAT(result.slots, ElementsAre(testing::DoubleEq(1.75 / 3), testing::DoubleEq(1.8 / 3)));
  // 0.5 + 0.4, 1 + 0 and 0.25 + 0.25; the product of the means would give another number.
  EXPECT_DOUBLE_EQ(result.length, 1 + 2.4 / 3);
}

TEST(ExpectedAcceptance, OfCertainSlotsItIsTheAcceptanceOfTheSameSlots) {
  const std::vector<double> certain = {NAN, 1, 0, 1, NAN, 1, 1, 0, NAN, 0, 1, 1};
  std::vector<int64_t> ids(12, 5), labels(12, 5);
  for (size_t row = 0; row < 12; ++row) labels[row] = certain[row] == 1 ? 5 : 6;
  ExpectedAcceptanceCounter expected(4);
  expected.add(certain);
  AcceptanceCounter counted(4);
  counted.add(ids, labels, std::vector<int64_t>{0, 1, 2});
  EXPECT_EQ(expected.result().slots, counted.result().slot_accuracy);
  EXPECT_EQ(expected.result().length, counted.result().acceptance_length);
}

TEST(ExpectedAcceptance, ANotANumberStaysOne) {
  ExpectedAcceptanceCounter counter(3);
  counter.add(std::vector<double>{NAN, 0.5, NAN, NAN, 1, 1});
  EXPECT_EQ(counter.result().slots[0], 0.75);
  EXPECT_TRUE(std::isnan(counter.result().slots[1]));
  EXPECT_TRUE(std::isnan(counter.result().length));
}

}  // namespace
}  // namespace draftlab

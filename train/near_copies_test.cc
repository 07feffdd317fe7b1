#include "train/near_copies.h"

#include <gmock/gmock.h>

namespace draftlab {
namespace {

using ::testing::ElementsAre;

// Prompts as token ids; a response token follows each.
class Prompts {
 public:
  explicit Prompts(std::vector<std::vector<int32_t>> prompts) : tokens_(std::move(prompts)) {
    for (std::vector<int32_t>& tokens : tokens_) {
      masks_.emplace_back(tokens.size(), 0);
      masks_.back().push_back(1);
      tokens.push_back(7);  // the same response, which says nothing of the prompts
    }
    for (size_t i = 0; i < tokens_.size(); ++i)
      records_.push_back({.token_ids = tokens_[i], .loss_mask = masks_[i]});
  }
  const std::vector<StoreRecord>& records() const { return records_; }

 private:
  std::vector<std::vector<int32_t>> tokens_;
  std::vector<std::vector<uint8_t>> masks_;
  std::vector<StoreRecord> records_;
};

TEST(NearCopies, APromptThatSharesThreeFifthsOfTheTokensOfBothIsOne) {
  const Prompts training({{1, 2, 3, 4}, {50, 51, 52, 53}, {60, 61, 62, 63}});
  const Prompts held_out({{1, 2, 3, 5},     // 3 of 5
                          {1, 2, 5, 6},     // 2 of 6
                          {4, 3, 2, 1, 1},  // the same, in another order
                          {90, 91}});
  EXPECT_THAT(near_copies(training.records(), held_out.records()), ElementsAre(1, 0, 1, 0));
}

TEST(NearCopies, WhatMostPromptsHaveMakesNoneAlike) {
  const Prompts training({{100, 101, 102, 1}, {100, 101, 102, 2}, {100, 101, 102, 3}});
  const Prompts held_out({{100, 101, 102, 9}, {100, 101, 102, 2}});
  EXPECT_THAT(near_copies(training.records(), held_out.records()), ElementsAre(0, 1));
}

TEST(NearCopies, WithoutTrainingPromptsNothingIsACopy) {
  EXPECT_THAT(near_copies({}, Prompts({{1, 2}}).records()), ElementsAre(0));
}

}  // namespace
}  // namespace draftlab

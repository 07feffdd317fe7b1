#include "model/draft_vocabulary.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "testing/owned_record.h"

namespace draftlab {
namespace {

using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;

TEST(DraftVocabulary, KeepsTheMostFrequentSupervisedTokens) {
  const OwnedRecord a({5, 5, 5, 3, 3, 9, 1}, {0, 0, 0, 1, 1, 1, 1});
  const OwnedRecord b({9, 5, 0}, {1, 1, 0});
  const std::vector<StoreRecord> records = {a.view(), b.view()};
  // Counts: 3 and 9 twice, 1 and 5 once (5's prompt tokens do not count).
  EXPECT_THAT(DraftVocabulary::most_frequent(records, 10, 2).d2t(), ElementsAre(3, 8));
  const auto three = DraftVocabulary::most_frequent(records, 10, 3);  // 1 before 5: the lower id
  EXPECT_THAT(three.d2t(), ElementsAre(1, 2, 7));
  EXPECT_EQ(three.draft_id(3), 1);
  EXPECT_EQ(three.draft_id(5), -1);
  EXPECT_EQ(three.target_id(2), 9);
  EXPECT_THAT(three.t2d(), ElementsAre(0, 1, 0, 1, 0, 0, 0, 0, 0, 1));
}

TEST(DraftVocabulary, FillsUpWithTheLowestUnusedIds) {
  const OwnedRecord a({7, 8}, {1, 1});
  const std::vector<StoreRecord> records = {a.view()};
  const auto vocabulary = DraftVocabulary::most_frequent(records, 10, 5);
  EXPECT_THAT(vocabulary.t2d(), ElementsAre(1, 1, 1, 0, 0, 0, 0, 1, 1, 0));
  EXPECT_EQ(vocabulary.size(), 5);
  EXPECT_EQ(vocabulary.vocab_size(), 10);
}

TEST(DraftVocabulary, WholeIsTheIdentity) {
  const auto whole = DraftVocabulary::whole(4);
  EXPECT_THAT(whole.d2t(), Each(0));
  EXPECT_THAT(whole.t2d(), Each(1));
  const at::Tensor head = at::randn({4, 3});
  EXPECT_TRUE(whole.head_rows(head).is_same(head)) << "no copy of a large matrix";
}

TEST(DraftVocabulary, MapsReadBackAndSelectTheHeadsRows) {
  const std::vector<int64_t> d2t = {1, 1, 3};
  const std::vector<uint8_t> t2d = {0, 1, 1, 0, 0, 1};
  const auto vocabulary = DraftVocabulary::from_maps(d2t, t2d, "drafter.safetensors");
  EXPECT_EQ(vocabulary.d2t(), d2t);
  EXPECT_EQ(vocabulary.t2d(), t2d);
  const at::Tensor head = at::arange(12).view({6, 2});
  EXPECT_TRUE(vocabulary.head_rows(head).equal(at::tensor({2, 3, 4, 5, 10, 11}).view({3, 2})));
}

TEST(DraftVocabulary, RefusesMapsThatContradictEachOther) {
  const std::vector<uint8_t> t2d = {0, 1, 1, 0, 0, 1};
  const auto read = [&](std::vector<int64_t> d2t) {
    return [&t2d, d2t] { DraftVocabulary::from_maps(d2t, t2d, "drafter.safetensors"); };
  };
  EXPECT_THAT(read({1, 1}),
              testing::ThrowsMessage<Error>(HasSubstr("t2d keeps 3 tokens, d2t has 2")));
  EXPECT_THAT(read({1, 1, 2}), testing::ThrowsMessage<Error>(HasSubstr("d2t[2] is 2")));
}

}  // namespace
}  // namespace draftlab

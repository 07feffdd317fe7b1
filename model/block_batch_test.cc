#include "model/block_batch.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "base/error.h"
#include "testing/owned_record.h"

namespace draftlab {
namespace {

using testing::ElementsAre;

struct TwoSequences {
  OwnedRecord first{{10, 11, 12, 13, 14, 15}, {0, 1, 1, 0, 1, 1}, 2};
  OwnedRecord second{{20, 21, 22}, {1, 1, 1}, 2};

  TwoSequences() {
    first.target_argmax = {30, 31, 32, 33, 34, 35};
    second.target_argmax = {36, 37, 38};
    for (size_t i = 0; i < first.taps.size(); ++i)
      first.taps[i] = at::BFloat16(static_cast<float>(i)).x;
    for (size_t i = 0; i < second.taps.size(); ++i)
      second.taps[i] = at::BFloat16(-static_cast<float>(i)).x;
  }
  std::vector<AnchoredSequence> anchored() const {
    return {{first.view(), {1, 4}}, {second.view(), {1}}};
  }
};

const BlockOptions kOptions = {.block_size = 4, .mask_token_id = 7, .gamma = 2};

TEST(BlockBatch, LaysSequencesEndToEndCutAtTheirLastAnchors) {
  const TwoSequences data;
  const BlockBatch batch = make_block_batch(data.anchored(), kOptions, DraftVocabulary::whole(50));
  EXPECT_THAT(batch.sequence_begin, ElementsAre(0, 4, 5));
  EXPECT_THAT(batch.block_sequence, ElementsAre(0, 0, 1));
  EXPECT_THAT(batch.block_anchor, ElementsAre(1, 4, 1));
  EXPECT_EQ(batch.blocks(), 3);
  EXPECT_THAT(batch.token_ids, ElementsAre(11, 7, 7, 7, 14, 7, 7, 7, 21, 7, 7, 7));
  EXPECT_TRUE(batch.context.equal(
      at::tensor({0.f, 1.f, 2.f, 3.f, 4.f, 5.f, 6.f, 7.f, 0.f, -1.f}).view({5, 2})));
}

TEST(BlockBatch, SupervisesAgainBehindAGapAndNothingBehindTheEnd) {
  const TwoSequences data;
  const BlockBatch batch = make_block_batch(data.anchored(), kOptions, DraftVocabulary::whole(50));
  EXPECT_THAT(batch.labels, ElementsAre(-1, 12, -1, 14, -1, 15, -1, -1, -1, 22, -1, -1));
  const double w3 = std::exp(-1.0);  // slot 3, gamma 2
  EXPECT_THAT(batch.weights, ElementsAre(0, 1, 0, w3, 0, 1, 0, 0, 0, 1, 0, 0));
}

TEST(BlockBatch, WithoutGammaAllWeightsAreOne) {
  const TwoSequences data;
  BlockOptions options = kOptions;
  options.gamma = 0;
  const BlockBatch batch = make_block_batch(data.anchored(), options, DraftVocabulary::whole(50));
  EXPECT_THAT(batch.weights, ElementsAre(0, 1, 0, 1, 0, 1, 0, 0, 0, 1, 0, 0));
}

TEST(BlockBatch, ArgmaxLabelsAreTheTargetsChoiceAfterThePositionBefore) {
  const TwoSequences data;
  EXPECT_THAT(block_labels(data.anchored(), 4, LabelSource::kArgmax, DraftVocabulary::whole(50)),
              ElementsAre(-1, 31, -1, 33, -1, 34, -1, -1, -1, 37, -1, -1));
}

TEST(BlockBatch, SlotsWithLabelsOutsideOfTheDraftVocabularyStaySupervised) {
  const TwoSequences data;
  std::vector<uint8_t> t2d(50, 0);
  for (int64_t kept : {11, 12, 22}) t2d[kept] = 1;
  const std::vector<int64_t> d2t = {11, 11, 20};
  const auto vocabulary = DraftVocabulary::from_maps(d2t, t2d, "test");
  const BlockBatch batch = make_block_batch(data.anchored(), kOptions, vocabulary);
  EXPECT_THAT(batch.labels, ElementsAre(-1, 1, -1, -1, -1, -1, -1, -1, -1, 2, -1, -1));
  EXPECT_EQ(batch.weights,
            make_block_batch(data.anchored(), kOptions, DraftVocabulary::whole(50)).weights);
  EXPECT_EQ(batch.token_ids[0], 11) << "inputs stay target ids";
}

TEST(BlockBatch, TargetRowsAreThePositionsFromWhichTheTargetPredictsTheSlots) {
  TwoSequences data;
  for (OwnedRecord* record : {&data.first, &data.second}) {
    for (size_t s = 0; s < record->token_ids.size(); ++s) {
      const auto value = static_cast<float>(record->token_ids[s]);
      record->final_hidden.push_back(at::BFloat16(value).x);
      record->final_hidden.push_back(at::BFloat16(-value).x);
    }
  }
  BlockOptions options = kOptions;
  EXPECT_FALSE(make_block_batch(data.anchored(), options, DraftVocabulary::whole(50))
                   .target_hidden.defined())
      << "nobody asked";
  options.target_distributions = true;
  const BlockBatch batch = make_block_batch(data.anchored(), options, DraftVocabulary::whole(50));
  EXPECT_THAT(batch.target_rows, ElementsAre(-1, 0, -1, 2, -1, 3, -1, -1, -1, 4, -1, -1));
  ASSERT_EQ(batch.target_hidden.sizes(), at::IntArrayRef({5, 2}));
  // Slot k of a block at a is predicted from position a+k-1, whose token stands here for its state.
  EXPECT_TRUE(batch.target_hidden.select(1, 0).equal(at::tensor({11.f, 12.f, 13.f, 14.f, 21.f})));
  EXPECT_TRUE(batch.target_hidden.select(1, 1).equal(-batch.target_hidden.select(1, 0)));
}

TEST(BlockBatch, ARecordWithoutFinalHiddenStatesHasNoTargetDistributions) {
  const TwoSequences data;
  BlockOptions options = kOptions;
  options.target_distributions = true;
  EXPECT_THROW(make_block_batch(data.anchored(), options, DraftVocabulary::whole(50)), c10::Error);
}

TEST(BlockBatch, KnowsTheNamesOfLabelSources) {
  EXPECT_EQ(parse_label_source("data"), LabelSource::kData);
  EXPECT_EQ(parse_label_source("argmax"), LabelSource::kArgmax);
  EXPECT_THROW(parse_label_source("teacher"), Error);
}

}  // namespace
}  // namespace draftlab

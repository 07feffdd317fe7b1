#include "kernels/delta_chunks.h"

#include <gtest/gtest.h>

#include <vector>

namespace draftlab {
namespace {

// Sequences of 70, 0, 9 (without blocks) and 3 rows.
const std::vector<int64_t> kSequenceBegin = {0, 70, 70, 79, 82};
const std::vector<int64_t> kBlockSequence = {0, 0, 0, 0, 0, 1, 3, 3};
const std::vector<int64_t> kBlockAnchor = {64, 0, 32, 33, -1, 0, 2, 1};
const BlockLayout kLayout = {kSequenceBegin, kBlockSequence, kBlockAnchor, 4};

TEST(DeltaChunks, EveryRowIsInOneChunkOrIdle) {
  const DeltaChunks plan(kLayout);
  std::vector<int> seen(82 + 8 * 4, 0);
  for (const DeltaChunk& chunk : plan.chunks) {
    for (int64_t i = 0; i < chunk.rows; ++i) ++seen[chunk.first_row + i];
    for (int64_t n : chunk.blocks)
      for (int64_t o = 0; o < 4; ++o) ++seen[82 + n * 4 + o];
  }
  for (const auto& [begin, end] : plan.idle)
    for (int64_t row = begin; row < end; ++row) ++seen[row];
  EXPECT_EQ(seen, std::vector<int>(seen.size(), 1));
}

TEST(DeltaChunks, ABlockGoesOnFromTheChunkOfItsLastVisibleRow) {
  const DeltaChunks plan(kLayout);
  std::vector<int> found(8, 0);
  for (const DeltaChunk& chunk : plan.chunks) {
    for (size_t b = 0; b < chunk.blocks.size(); ++b) {
      const int64_t n = chunk.blocks[b], begin = kSequenceBegin[kBlockSequence[n]];
      EXPECT_EQ(chunk.sequence, kBlockSequence[n]);
      EXPECT_EQ(chunk.first_row + chunk.visible[b], begin + kBlockAnchor[n]);
      EXPECT_LE(chunk.visible[b], chunk.rows);
      EXPECT_TRUE(chunk.visible[b] > 0 || chunk.first_row == begin);
      ++found[n];
    }
  }
  EXPECT_EQ(found, (std::vector<int>{1, 1, 1, 1, 0, 1, 1, 1})) << "all but the padding block";
}

TEST(DeltaChunks, RunUpToTheLastAnchorOfASequence) {
  const DeltaChunks plan(kLayout);
  EXPECT_EQ(plan.sequence_begin, (std::vector<int64_t>{0, 2, 3, 4}));
  ASSERT_EQ(plan.chunks.size(), 4);
  EXPECT_EQ(plan.chunks[1].first_row + plan.chunks[1].rows, 64);
  EXPECT_EQ(plan.chunks[2].rows, 0) << "a sequence without rows";
  EXPECT_EQ(plan.chunks[3].rows, 2);
  EXPECT_EQ(plan.largest_blocks, 2);
}

}  // namespace
}  // namespace draftlab

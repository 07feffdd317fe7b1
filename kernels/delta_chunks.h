#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "kernels/block_layout.h"

namespace draftlab {

// Context rows of a chunk. A smaller one needs more states and fewer products inside it:
// docs/log.md has the times.
constexpr int64_t kChunkRows = 32;

// Neighbouring context rows of one sequence, and the blocks that go on from behind one of them (or,
// in a sequence's first chunk, from before the first).
struct DeltaChunk {
  int64_t sequence = 0;
  int64_t first_row = 0;             // among all context rows
  int64_t rows = 0;                  // at most kChunkRows; 0 where all anchors are 0
  std::span<const int64_t> blocks;   // which of the layout's
  std::span<const int64_t> visible;  // how many of the chunk's rows each of them sees
};

// The chunks of every sequence up to its last anchor. Rows that no block depends on and padding
// blocks are in none.
struct DeltaChunks {
  std::vector<DeltaChunk> chunks;
  // The first chunk of each sequence that has blocks, then their number.
  std::vector<int64_t> sequence_begin;
  // Rows [begin, end) in none, counted through context and blocks.
  std::vector<std::pair<int64_t, int64_t>> idle;
  int64_t largest_blocks = 0;  // the most that go on from one chunk

  explicit DeltaChunks(const BlockLayout& layout);
  DeltaChunks(const DeltaChunks&) = delete;  // chunks point into it

 private:
  std::vector<int64_t> blocks_, visible_;
};

}  // namespace draftlab

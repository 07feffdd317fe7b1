#pragma once

#include <cstdint>
#include <span>

namespace draftlab {

// Where the rows of a drafter's layer lie. T context rows of R sequences, end to end; N blocks of B
// rows, sorted by sequence. A block row n*B + o is slot o of block n. Tensors of all rows have the
// context rows first: row T + n*B + o.
struct BlockLayout {
  std::span<const int64_t> sequence_begin;  // [R+1] first context row of each sequence, then T
  std::span<const int64_t> block_sequence;  // [N] rising
  std::span<const int64_t> block_anchor;    // [N] position in its sequence, at most the sequence's
                                          // length; -1: padding, whose rows see nothing and give 0
  int64_t block_size = 0;  // B

  int64_t context_rows() const { return sequence_begin.back(); }
  int64_t query_rows() const { return static_cast<int64_t>(block_anchor.size()) * block_size; }
};

}  // namespace draftlab

#include "kernels/delta_chunks.h"

#include <c10/util/Exception.h>

#include <algorithm>

namespace draftlab {
namespace {

// An anchor at a border belongs to the chunk before it, which then shows it all of its rows.
int64_t chunk_of(int64_t anchor) { return anchor == 0 ? 0 : (anchor - 1) / kChunkRows; }

}  // namespace

DeltaChunks::DeltaChunks(const BlockLayout& layout) {
  const int64_t blocks = static_cast<int64_t>(layout.block_anchor.size());
  for (int64_t n = 0; n < blocks; ++n) {
    if (layout.block_anchor[n] >= 0) {
      blocks_.push_back(n);
    } else {
      const int64_t row = layout.context_rows() + n * layout.block_size;
      idle.push_back({row, row + layout.block_size});
    }
  }
  std::stable_sort(blocks_.begin(), blocks_.end(), [&](int64_t a, int64_t b) {
    return layout.block_sequence[a] != layout.block_sequence[b]
               ? layout.block_sequence[a] < layout.block_sequence[b]
               : chunk_of(layout.block_anchor[a]) < chunk_of(layout.block_anchor[b]);
  });
  for (int64_t n : blocks_) {
    const int64_t anchor = layout.block_anchor[n];
    visible_.push_back(anchor - chunk_of(anchor) * kChunkRows);
  }

  auto next = blocks_.begin();
  for (int64_t s = 0; s + 1 < static_cast<int64_t>(layout.sequence_begin.size()); ++s) {
    const int64_t begin = layout.sequence_begin[s], end = layout.sequence_begin[s + 1];
    const auto last =
        std::find_if(next, blocks_.end(), [&](int64_t n) { return layout.block_sequence[n] != s; });
    int64_t used = 0;
    for (auto n = next; n != last; ++n) used = std::max(used, layout.block_anchor[*n]);
    TORCH_CHECK(used <= end - begin, "gated_delta_rule: anchor ", used,
                " lies behind the end of sequence ", s);
    if (next != last) sequence_begin.push_back(static_cast<int64_t>(chunks.size()));
    for (int64_t c = 0; next != last; ++c) {
      const auto behind = std::find_if(
          next, last, [&](int64_t n) { return chunk_of(layout.block_anchor[n]) != c; });
      const size_t at = next - blocks_.begin(), count = behind - next;
      chunks.push_back({s, begin + c * kChunkRows, std::min(kChunkRows, used - c * kChunkRows),
                        std::span(blocks_).subspan(at, count),
                        std::span(visible_).subspan(at, count)});
      largest_blocks = std::max(largest_blocks, static_cast<int64_t>(count));
      next = behind;
    }
    if (used < end - begin) idle.push_back({begin + used, end});
  }
  sequence_begin.push_back(static_cast<int64_t>(chunks.size()));
}

}  // namespace draftlab

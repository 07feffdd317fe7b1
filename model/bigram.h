#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "model/block_batch.h"
#include "store/reader.h"

namespace draftlab {

// The simplest drafter, a baseline: each token is followed by its most frequent successor.
class BigramChain {
 public:
  // Counts neighbouring supervised tokens of the records. Of equally frequent successors the lowest
  // id wins.
  BigramChain(std::span<const StoreRecord> records, int64_t vocab_size);

  int64_t successor(int64_t token) const { return successors_[token]; }  // -1: never seen

  // Target ids [N*B]: slot 0 is -1, slot k follows slot k-1 (slot 1 the anchor's token); behind an
  // unseen token all are -1.
  std::vector<int64_t> draft(std::span<const AnchoredSequence> sequences, int64_t block_size) const;

 private:
  std::vector<int64_t> successors_;
};

}  // namespace draftlab

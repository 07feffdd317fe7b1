#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace draftlab {

// How often a slot's label is among the drafter's most likely tokens: what a tree of drafts can be
// accepted with at most (Ringel and Romano, "DDTree"), and, unlike accuracy, whether its lists are
// worth branching over. A label of -1 is never among them.
class TopRecallCounter {
 public:
  // Looks at the first k tokens of each list.
  TopRecallCounter(int64_t block_size, int64_t k);

  // ids [N*B, k], the most likely first; labels [N*B]; slot 0 is ignored.
  void add(std::span<const int64_t> ids, std::span<const int64_t> labels);

  // [B-1] share of blocks whose slot has its label among the first m <= k tokens; NaN without a
  // block. With m = 1 it is the slot's accuracy.
  std::vector<double> share(int64_t m) const;
  // 1 + mean leading slots of which all have it among the first k: the acceptance length of the
  // tree of all combinations. NaN without a block.
  double length() const;

 private:
  int64_t block_size_, k_;
  int64_t blocks_ = 0, leading_ = 0;
  std::vector<int64_t> found_;  // [B-1, k] blocks whose label has this place in the list
};

}  // namespace draftlab

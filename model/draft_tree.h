#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace draftlab {

// A tree of drafts behind one anchor: every path from it is a draft, and one pass of the target
// verifies them all (Ringel and Romano, "DDTree").
struct DraftTree {
  struct Node {
    int64_t parent = -1;         // of the nodes; -1: the anchor
    int64_t slot = 1;            // 1 .. B-1, one more than its parent's
    int64_t token = 0;           // as in the lists that the tree is made of
    double log_probability = 0;  // of its path: the sum of the slots' own
  };
  std::vector<Node> nodes;  // a parent stands before its children
};

// The likeliest nodes of a block whose slots are drafted independently of each other: of all trees
// with so many nodes the one with the largest expected number of accepted tokens, were the
// drafter's probabilities true. Best first, falling by probability (ties: the one that was
// reachable first), so that the first n nodes are the tree of the budget n. Fewer than `budget`
// where there are no more. tokens, log_probabilities [B-1, k] of slots 1 .. B-1, each list falling;
// what is not above -infinity, a NaN among it, is in no tree.
DraftTree best_tree(std::span<const int64_t> tokens, std::span<const double> log_probabilities,
                    int64_t k, int64_t budget);

// Of teacher-forced blocks the acceptance length of their trees, for each of several budgets.
class TreeLengthCounter {
 public:
  // budgets rise.
  TreeLengthCounter(int64_t block_size, int64_t k, std::vector<int64_t> budgets);
  // As TopTokens has them, [N*B, k], and labels [N*B]; slot 0 is ignored, a label of -1 never
  // right.
  void add(std::span<const int64_t> ids, std::span<const double> log_probabilities,
           std::span<const int64_t> labels);
  // 1 + mean tokens along the longest path of labels, of each budget; NaN without a block.
  std::vector<double> lengths() const;

 private:
  int64_t block_size_, k_;
  std::vector<int64_t> budgets_;
  int64_t blocks_ = 0;
  std::vector<int64_t> accepted_;  // of each budget
};

}  // namespace draftlab

#include "model/draft_tree.h"

#include <cassert>
#include <limits>
#include <queue>

namespace draftlab {
namespace {

// A node that may come next: the `rank`-th token of its slot's list.
struct Candidate {
  double log_probability;
  int64_t order;  // in which candidates were found
  int64_t parent, slot, rank;

  bool operator<(const Candidate& other) const {
    if (log_probability != other.log_probability) return log_probability < other.log_probability;
    return order > other.order;
  }
};

}  // namespace

DraftTree best_tree(std::span<const int64_t> tokens, std::span<const double> log_probabilities,
                    int64_t k, int64_t budget) {
  assert(tokens.size() == log_probabilities.size() && tokens.size() % k == 0);
  const int64_t slots = std::ssize(tokens) / k;
  DraftTree tree;
  std::priority_queue<Candidate> candidates;
  int64_t found = 0;
  const auto consider = [&](int64_t parent, int64_t slot, int64_t rank) {
    if (slot > slots || rank == k) return;
    const double before = parent < 0 ? 0 : tree.nodes[parent].log_probability;
    const double sum = before + log_probabilities[(slot - 1) * k + rank];
    if (sum > -std::numeric_limits<double>::infinity())
      candidates.push({sum, found++, parent, slot, rank});
  };
  consider(-1, 1, 0);
  while (!candidates.empty() && std::ssize(tree.nodes) < budget) {
    const Candidate best = candidates.top();
    candidates.pop();
    tree.nodes.push_back(
        {best.parent, best.slot, tokens[(best.slot - 1) * k + best.rank], best.log_probability});
    consider(best.parent, best.slot, best.rank + 1);
    consider(std::ssize(tree.nodes) - 1, best.slot + 1, 0);
  }
  return tree;
}

TreeLengthCounter::TreeLengthCounter(int64_t block_size, int64_t k, std::vector<int64_t> budgets)
    : block_size_(block_size), k_(k), budgets_(std::move(budgets)), accepted_(budgets_.size(), 0) {}

void TreeLengthCounter::add(std::span<const int64_t> ids, std::span<const double> log_probabilities,
                            std::span<const int64_t> labels) {
  assert(ids.size() == log_probabilities.size() && ids.size() == labels.size() * k_);
  const int64_t lists = (block_size_ - 1) * k_;
  for (int64_t first = 0; first < std::ssize(labels); first += block_size_) {
    const int64_t from = (first + 1) * k_;
    const DraftTree tree = best_tree(ids.subspan(from, lists),
                                     log_probabilities.subspan(from, lists), k_, budgets_.back());
    int64_t at = -1;  // where the path of labels has come to
    for (int64_t i = 0; i < std::ssize(tree.nodes); ++i) {
      const DraftTree::Node& node = tree.nodes[i];
      if (node.parent != at || node.token < 0 || node.token != labels[first + node.slot]) continue;
      at = i;
      for (size_t b = 0; b < budgets_.size(); ++b) accepted_[b] += i < budgets_[b];
    }
    ++blocks_;
  }
}

std::vector<double> TreeLengthCounter::lengths() const {
  std::vector<double> lengths;
  for (const int64_t count : accepted_)
    lengths.push_back(1 + static_cast<double>(count) / static_cast<double>(blocks_));
  return lengths;
}

}  // namespace draftlab

#include "model/draft_tree.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "base/random.h"
#include "model/acceptance.h"

namespace draftlab {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::IsNan;

// Lists of made-up slots, each falling.
struct Lists {
  int64_t k;
  std::vector<int64_t> tokens;
  std::vector<double> log_probabilities;

  Lists(int64_t slots, int64_t k, Random& random) : k(k) {
    for (int64_t slot = 0; slot < slots; ++slot) {
      std::vector<double> p;
      for (int64_t i = 0; i < k; ++i) p.push_back(std::log(0.01 + random.uniform()));
      std::ranges::sort(p, std::greater());
      for (int64_t i = 0; i < k; ++i) tokens.push_back(10 * slot + i);
      log_probabilities.insert(log_probabilities.end(), p.begin(), p.end());
    }
  }
  DraftTree tree(int64_t budget) const { return best_tree(tokens, log_probabilities, k, budget); }
  double total(int64_t slot) const {  // log of a slot's sum
    double sum = 0;
    for (int64_t i = 0; i < k; ++i) sum += std::exp(log_probabilities[slot * k + i]);
    return std::log(sum);
  }
};

double expected_tokens(const DraftTree& tree) {
  double sum = 0;
  for (const DraftTree::Node& node : tree.nodes) sum += std::exp(node.log_probability);
  return sum;
}

// The largest sum of probabilities over all trees of `budget` nodes, tried one by one: a tree is a
// set of nodes, each grown from one smaller by any node whose parent is there.
double best_of_all_trees(const Lists& lists, int64_t budget) {
  const int64_t slots = std::ssize(lists.tokens) / lists.k;
  using Path = std::vector<int64_t>;  // ranks
  std::set<std::set<Path>> trees = {{}};
  for (int64_t size = 0; size < budget; ++size) {
    std::set<std::set<Path>> larger;
    for (const std::set<Path>& tree : trees) {
      std::vector<Path> parents = {{}};
      parents.insert(parents.end(), tree.begin(), tree.end());
      for (const Path& parent : parents) {
        if (std::ssize(parent) == slots) continue;
        for (int64_t rank = 0; rank < lists.k; ++rank) {
          Path child = parent;
          child.push_back(rank);
          if (tree.contains(child)) continue;
          std::set<Path> grown = tree;
          grown.insert(child);
          larger.insert(grown);
        }
      }
    }
    trees = larger;
  }
  double best = 0;
  for (const std::set<Path>& tree : trees) {
    double sum = 0;
    for (const Path& path : tree) {
      double product = 1;
      for (size_t slot = 0; slot < path.size(); ++slot)
        product *= std::exp(lists.log_probabilities[slot * lists.k + path[slot]]);
      sum += product;
    }
    best = std::max(best, sum);
  }
  return best;
}

TEST(DraftTree, OfABudgetIsTheBestOfAllTreesOfThatManyNodes) {
  Random random(5, "lists");
  for (int i = 0; i < 10; ++i) {
    Lists lists(/*slots=*/3, /*k=*/2, random);
    for (int64_t slot = 0; slot < 3; ++slot) {  // probabilities of a slot sum to at most 1
      const double total = lists.total(slot);
      for (int64_t r = 0; r < 2; ++r) lists.log_probabilities[slot * 2 + r] -= total;
    }
    for (const int64_t budget : {1, 2, 3, 4, 5, 6}) {
      const DraftTree tree = lists.tree(budget);
      ASSERT_EQ(std::ssize(tree.nodes), budget);
      ASSERT_NEAR(expected_tokens(tree), best_of_all_trees(lists, budget), 1e-12);
    }
  }
}

TEST(DraftTree, EveryNodeIsItsParentsChildOfTheNextSlotAndNoneIsThereTwice) {
  Random random(6, "lists");
  Lists lists(4, 3, random);
  for (double& p : lists.log_probabilities) p -= 1;
  const DraftTree tree = lists.tree(1000);
  EXPECT_EQ(tree.nodes.size(), 3u + 9 + 27 + 81) << "all there are";
  std::set<std::pair<int64_t, int64_t>> seen;
  for (size_t i = 0; i < tree.nodes.size(); ++i) {
    const DraftTree::Node& node = tree.nodes[i];
    ASSERT_LT(node.parent, static_cast<int64_t>(i));
    const bool first = node.parent < 0;
    EXPECT_EQ(node.slot, first ? 1 : tree.nodes[node.parent].slot + 1);
    EXPECT_EQ(node.token / 10, node.slot - 1);
    EXPECT_TRUE(seen.insert({node.parent, node.token}).second);
    const double before = first ? 0 : tree.nodes[node.parent].log_probability;
    EXPECT_DOUBLE_EQ(node.log_probability,
                     before + lists.log_probabilities[(node.slot - 1) * lists.k + node.token % 10]);
    if (i > 0) {
      EXPECT_LE(node.log_probability, tree.nodes[i - 1].log_probability);
    }
  }
}

TEST(DraftTree, OfASmallerBudgetIsItsBeginning) {
  Random random(7, "lists");
  Lists lists(5, 4, random);
  for (double& p : lists.log_probabilities) p -= 1;
  const DraftTree large = lists.tree(40), small = lists.tree(9);
  for (size_t i = 0; i < small.nodes.size(); ++i) {
    EXPECT_EQ(small.nodes[i].parent, large.nodes[i].parent);
    EXPECT_EQ(small.nodes[i].token, large.nodes[i].token);
  }
}

TEST(DraftTree, LeavesOutWhatIsNotLikelyAtAll) {
  const double none = -std::numeric_limits<double>::infinity();
  const DraftTree tree =
      best_tree(std::vector<int64_t>{4, 5, 6, -1}, std::vector<double>{-1, NAN, -1, none}, 2, 10);
  ASSERT_EQ(tree.nodes.size(), 2u);
  EXPECT_EQ(tree.nodes[0].token, 4);
  EXPECT_EQ(tree.nodes[1].token, 6);
}

TEST(TreeLength, CountsThePathOfLabelsAsFarAsTheTreeHasIt) {
  TreeLengthCounter counter(/*block_size=*/3, /*k=*/2, {1, 2, 3, 4});
  const double l9 = std::log(0.9), l1 = std::log(0.1), l6 = std::log(0.6), l4 = std::log(0.4);
  // By probability: 5 (.9), 5 7 (.54), 5 8 (.36), 6 (.1).
  counter.add(std::vector<int64_t>{-1, -1, 5, 6, 7, 8}, std::vector<double>{0, 0, l9, l1, l6, l4},
              std::vector<int64_t>{-1, 5, 8});
  EXPECT_THAT(counter.lengths(), ElementsAre(2, 2, 3, 3));
  counter.add(std::vector<int64_t>{-1, -1, 5, 6, 7, 8}, std::vector<double>{0, 0, l9, l1, l6, l4},
              std::vector<int64_t>{-1, 6, -1});
  EXPECT_THAT(counter.lengths(), ElementsAre(1.5, 1.5, 2, 2.5));
  EXPECT_THAT(TreeLengthCounter(3, 2, {1, 2}).lengths(), Each(IsNan()));
}

TEST(TreeLength, OfAChainOfFirstChoicesIsTheAcceptanceLength) {
  constexpr int64_t kSize = 5, kBlocks = 60;
  Random random(8, "blocks");
  std::vector<int64_t> ids, labels;
  std::vector<double> log_probabilities;
  for (int64_t row = 0; row < kBlocks * kSize; ++row) {
    ids.push_back(static_cast<int64_t>(random.below(3)));
    labels.push_back(static_cast<int64_t>(random.below(4)) - 1);
    log_probabilities.push_back(-random.uniform());
  }
  TreeLengthCounter counter(kSize, /*k=*/1, {1, kSize - 1, 50});
  counter.add(ids, log_probabilities, labels);
  AcceptanceCounter acceptance(kSize);
  acceptance.add(ids, labels, std::vector<int64_t>(kBlocks, 0));
  const Acceptance expected = acceptance.result();
  EXPECT_EQ(counter.lengths()[0], 1 + expected.slot_accuracy[0]);
  EXPECT_EQ(counter.lengths()[1], expected.acceptance_length);
  EXPECT_EQ(counter.lengths()[2], expected.acceptance_length);
}

}  // namespace
}  // namespace draftlab

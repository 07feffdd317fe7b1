#include "train/near_copies.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <numeric>
#include <unordered_map>

namespace draftlab {
namespace {

bool are_near(const WordSet& a, const WordSet& b) {
  size_t shared = 0;
  for (auto i = a.begin(), j = b.begin(); i != a.end() && j != b.end();) {
    shared += *i == *j;
    const bool next_i = *i <= *j, next_j = *j <= *i;
    i += next_i;
    j += next_j;
  }
  const auto both = static_cast<double>(shared);
  return both >= kNearCopy * (static_cast<double>(a.size() + b.size()) - both);
}

// Finds near copies without comparing each prompt with all others: two sets that share k words of n
// share one of the n - k + 1 rarest of either, so only prompts are compared that share one of these
// (prefix filtering: Bayardo, Ma and Srikant 2007).
class PromptIndex {
 public:
  explicit PromptIndex(const std::vector<WordSet>& prompts) {
    for (const WordSet& words : prompts)
      for (const int64_t word : words) ++frequency_[word];
    for (size_t i = 0; i < prompts.size(); ++i)
      for (const int64_t word : rarest(prompts[i])) holders_[word].push_back(i);
  }

  // Indices of the prompts that may be near these words and are asked for, rising, each once.
  template <typename Asked>
  std::vector<size_t> candidates(const WordSet& words, Asked is_asked) const {
    std::vector<size_t> found;
    for (const int64_t word : rarest(words)) {
      const auto holders = holders_.find(word);
      if (holders == holders_.end()) continue;
      std::ranges::copy_if(holders->second, std::back_inserter(found), is_asked);
    }
    std::ranges::sort(found);
    found.erase(std::unique(found.begin(), found.end()), found.end());
    return found;
  }

 private:
  std::vector<int64_t> rarest(const WordSet& words) const {
    std::vector<std::pair<int64_t, int64_t>> ranked;
    for (const int64_t word : words) {
      const auto found = frequency_.find(word);
      ranked.emplace_back(found == frequency_.end() ? 0 : found->second, word);
    }
    const auto size = static_cast<double>(words.size());
    // A little less than the product, which may be rounded up past a whole number.
    const auto shared = static_cast<size_t>(std::ceil(kNearCopy * size - 1e-9));
    const size_t count = std::min(words.size(), words.size() - shared + 1);
    std::ranges::partial_sort(ranked, ranked.begin() + static_cast<ptrdiff_t>(count));
    std::vector<int64_t> rare;
    for (size_t i = 0; i < count; ++i) rare.push_back(ranked[i].second);
    return rare;
  }

  std::unordered_map<int64_t, int64_t> frequency_;
  std::unordered_map<int64_t, std::vector<size_t>> holders_;
};

// Sets of prompts that are joined one by one; the first prompt stands for each.
class Groups {
 public:
  explicit Groups(size_t size) : parent_(size) { std::iota(parent_.begin(), parent_.end(), 0); }
  size_t of(size_t i) {
    while (parent_[i] != i) i = parent_[i] = parent_[parent_[i]];
    return i;
  }
  void join(size_t i, size_t j) {
    const size_t a = of(i), b = of(j);
    parent_[std::max(a, b)] = std::min(a, b);
  }

 private:
  std::vector<size_t> parent_;
};

}  // namespace

std::vector<int64_t> near_copies(const std::vector<WordSet>& training,
                                 const std::vector<WordSet>& held_out) {
  const PromptIndex index(training);
  std::vector<int64_t> near;
  for (const WordSet& words : held_out) {
    near.push_back(std::ranges::any_of(index.candidates(words, [](size_t) { return true; }),
                                       [&](size_t i) { return are_near(words, training[i]); }));
  }
  return near;
}

std::vector<int64_t> groups_of_near_copies(const std::vector<WordSet>& prompts) {
  // Prompts of the same words are near the same ones, and there may be many.
  std::map<WordSet, size_t> place;
  std::vector<WordSet> different;
  std::vector<size_t> place_of;
  for (const WordSet& words : prompts) {
    const auto [entry, is_new] = place.emplace(words, different.size());
    if (is_new) different.push_back(words);
    place_of.push_back(entry->second);
  }
  const PromptIndex index(different);
  Groups groups(different.size());
  for (size_t i = 0; i < different.size(); ++i) {
    // Those of its group need no comparison: of many alike nearly all.
    const auto is_apart = [&](size_t j) { return j < i && groups.of(j) != groups.of(i); };
    for (const size_t j : index.candidates(different[i], is_apart))
      if (are_near(different[i], different[j])) groups.join(i, j);
  }
  std::vector<int64_t> first(different.size(), -1);  // prompt of each group
  std::vector<int64_t> group_of;
  for (size_t i = 0; i < prompts.size(); ++i) {
    int64_t& number = first[groups.of(place_of[i])];
    if (number < 0) number = static_cast<int64_t>(i);
    group_of.push_back(number);
  }
  return group_of;
}

}  // namespace draftlab

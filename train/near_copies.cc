#include "train/near_copies.h"

#include <algorithm>
#include <set>
#include <unordered_map>

namespace draftlab {
namespace {

std::set<int32_t> prompt_of(const StoreRecord& record) {
  std::set<int32_t> tokens;
  for (size_t i = 0; i < record.token_ids.size() && record.loss_mask[i] == 0; ++i)
    tokens.insert(record.token_ids[i]);
  return tokens;
}

}  // namespace

std::vector<int64_t> near_copies(const std::vector<StoreRecord>& training,
                                 const std::vector<StoreRecord>& held_out, double similarity) {
  std::unordered_map<int32_t, std::vector<size_t>> holders;  // training prompts, by token
  for (size_t i = 0; i < training.size(); ++i)
    for (const int32_t token : prompt_of(training[i])) holders[token].push_back(i);
  // What most training prompts have says nothing about two of them.
  const auto is_usual = [&](const std::vector<size_t>& prompts) {
    return 2 * prompts.size() > training.size();
  };
  std::vector<size_t> sizes(training.size(), 0);  // of their sets
  for (const auto& [token, prompts] : holders) {
    if (is_usual(prompts)) continue;
    for (const size_t i : prompts) ++sizes[i];
  }

  std::vector<int64_t> near;
  for (const StoreRecord& record : held_out) {
    std::unordered_map<size_t, size_t> shared;  // tokens, by training prompt
    size_t size = 0;
    for (const int32_t token : prompt_of(record)) {
      const auto found = holders.find(token);
      if (found != holders.end() && is_usual(found->second)) continue;
      ++size;
      if (found == holders.end()) continue;
      for (const size_t i : found->second) ++shared[i];
    }
    near.push_back(std::ranges::any_of(shared, [&](const auto& each) {
      const auto both = static_cast<double>(each.second);
      const auto either = static_cast<double>(size + sizes[each.first]) - both;
      return both >= similarity * either;
    }));
  }
  return near;
}

}  // namespace draftlab

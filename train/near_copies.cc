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
  std::vector<size_t> sizes(training.size(), 0);             // of their sets
  for (size_t i = 0; i < training.size(); ++i)
    for (const int32_t token : prompt_of(training[i])) holders[token].push_back(i);
  std::erase_if(holders,
                [&](const auto& each) { return 2 * each.second.size() > training.size(); });
  for (const auto& [token, prompts] : holders)
    for (const size_t i : prompts) ++sizes[i];

  // What nearly every training prompt has is told from what none has.
  std::unordered_map<int32_t, size_t> counts;
  for (const StoreRecord& record : training)
    for (const int32_t token : prompt_of(record)) ++counts[token];

  std::vector<int64_t> near;
  for (const StoreRecord& record : held_out) {
    std::unordered_map<size_t, size_t> shared;  // tokens, by training prompt
    size_t size = 0;
    for (const int32_t token : prompt_of(record)) {
      const auto count = counts.find(token);
      if (count != counts.end() && 2 * count->second > training.size()) continue;
      ++size;
      const auto found = holders.find(token);
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

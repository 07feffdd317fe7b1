#include "model/bigram.h"

#include <map>
#include <utility>

namespace draftlab {

BigramChain::BigramChain(std::span<const StoreRecord> records, int64_t vocab_size)
    : successors_(vocab_size, -1) {
  std::map<std::pair<int64_t, int64_t>, int64_t> counts;
  for (const StoreRecord& record : records) {
    for (size_t s = 0; s + 1 < record.token_ids.size(); ++s) {
      if (record.loss_mask[s] && record.loss_mask[s + 1])
        ++counts[{record.token_ids[s], record.token_ids[s + 1]}];
    }
  }
  std::vector<int64_t> best(vocab_size, 0);
  for (const auto& [pair, count] :
       counts) {  // successors in rising order: a tie keeps the lower one
    if (count > best[pair.first]) {
      best[pair.first] = count;
      successors_[pair.first] = pair.second;
    }
  }
}

std::vector<int64_t> BigramChain::draft(std::span<const AnchoredSequence> sequences,
                                        int64_t block_size) const {
  std::vector<int64_t> ids;
  for (const auto& [record, anchors] : sequences) {
    for (int64_t anchor : anchors) {
      ids.push_back(-1);
      int64_t token = record.token_ids[anchor];
      for (int64_t k = 1; k < block_size; ++k) {
        token = token < 0 ? -1 : successor(token);
        ids.push_back(token);
      }
    }
  }
  return ids;
}

}  // namespace draftlab

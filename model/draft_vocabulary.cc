#include "model/draft_vocabulary.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <numeric>
#include <string>

#include "base/error.h"

namespace draftlab {

DraftVocabulary::DraftVocabulary(std::vector<int64_t> target_ids, int64_t vocab_size)
    : target_ids_(std::move(target_ids)), draft_ids_(vocab_size, -1) {
  for (int64_t d = 0; d < size(); ++d) draft_ids_[target_ids_[d]] = d;
}

DraftVocabulary DraftVocabulary::whole(int64_t vocab_size) {
  std::vector<int64_t> ids(vocab_size);
  std::iota(ids.begin(), ids.end(), 0);
  return {std::move(ids), vocab_size};
}

DraftVocabulary DraftVocabulary::most_frequent(std::span<const StoreRecord> records,
                                               int64_t vocab_size, int64_t size) {
  TORCH_CHECK(size >= 1 && size <= vocab_size, "draft vocabulary of ", size, " from ", vocab_size);
  std::vector<int64_t> count(vocab_size, 0), ids(vocab_size);
  for (const StoreRecord& record : records) {
    for (size_t s = 0; s < record.token_ids.size(); ++s)
      if (record.loss_mask[s]) ++count.at(record.token_ids[s]);
  }
  std::iota(ids.begin(), ids.end(), 0);
  std::stable_sort(ids.begin(), ids.end(),
                   [&](int64_t a, int64_t b) { return count[a] > count[b]; });
  ids.resize(size);
  std::sort(ids.begin(), ids.end());
  return {std::move(ids), vocab_size};
}

DraftVocabulary DraftVocabulary::from_maps(std::span<const int64_t> d2t,
                                           std::span<const uint8_t> t2d, const std::string& where) {
  std::vector<int64_t> ids;
  for (size_t v = 0; v < t2d.size(); ++v)
    if (t2d[v]) ids.push_back(static_cast<int64_t>(v));
  if (ids.size() != d2t.size()) {
    throw Error(where, "t2d keeps " + std::to_string(ids.size()) + " tokens, d2t has " +
                           std::to_string(d2t.size()) + "; they belong to different vocabularies");
  }
  for (size_t d = 0; d < ids.size(); ++d) {
    const int64_t expected = ids[d] - static_cast<int64_t>(d);
    if (d2t[d] != expected) {
      throw Error(where, "d2t[" + std::to_string(d) + "] is " + std::to_string(d2t[d]) +
                             ", but t2d makes target token " + std::to_string(ids[d]) +
                             " the draft token " + std::to_string(d) + " (offset " +
                             std::to_string(expected) + ")");
    }
  }
  return {std::move(ids), static_cast<int64_t>(t2d.size())};
}

std::vector<int64_t> DraftVocabulary::d2t() const {
  std::vector<int64_t> offsets = target_ids_;
  for (int64_t d = 0; d < size(); ++d) offsets[d] -= d;
  return offsets;
}

std::vector<uint8_t> DraftVocabulary::t2d() const {
  std::vector<uint8_t> kept(vocab_size());
  for (int64_t v = 0; v < vocab_size(); ++v) kept[v] = draft_ids_[v] >= 0;
  return kept;
}

at::Tensor DraftVocabulary::head_rows(const at::Tensor& head) const {
  TORCH_CHECK(head.size(0) == vocab_size(), "the head has ", head.size(0), " rows for ",
              vocab_size(), " tokens");
  if (size() == vocab_size()) return head;
  return head.index_select(0, at::tensor(target_ids_, at::kLong).to(head.device()));
}

}  // namespace draftlab

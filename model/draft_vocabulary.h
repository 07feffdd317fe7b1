#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <span>
#include <vector>

#include "store/reader.h"

namespace draftlab {

// Which of the target's V tokens a drafter can propose. Draft ids 0 .. V_d-1 follow the order of
// the target ids that are kept. Files of other projects hold it as two maps (speculators):
//   d2t[d] = target id of draft id d, minus d;   t2d[v] = 1 if target id v is kept.
class DraftVocabulary {
 public:
  static DraftVocabulary whole(int64_t vocab_size);
  // The `size` most frequent supervised tokens of the records (ties, and what is missing: the
  // lowest ids).
  static DraftVocabulary most_frequent(std::span<const StoreRecord> records, int64_t vocab_size,
                                       int64_t size);
  // Throws Error naming `where` unless the maps agree with each other.
  static DraftVocabulary from_maps(std::span<const int64_t> d2t, std::span<const uint8_t> t2d,
                                   const std::string& where);

  int64_t size() const { return static_cast<int64_t>(target_ids_.size()); }       // V_d
  int64_t vocab_size() const { return static_cast<int64_t>(draft_ids_.size()); }  // V
  int64_t target_id(int64_t draft_id) const { return target_ids_[draft_id]; }
  int64_t draft_id(int64_t target_id) const { return draft_ids_[target_id]; }  // -1: not kept
  std::vector<int64_t> d2t() const;
  std::vector<uint8_t> t2d() const;

  // The kept rows [V_d, H] of the target's head [V, H]; the head itself where all are kept.
  at::Tensor head_rows(const at::Tensor& head) const;

 private:
  DraftVocabulary(std::vector<int64_t> target_ids, int64_t vocab_size);

  std::vector<int64_t> target_ids_;  // [V_d] rising
  std::vector<int64_t> draft_ids_;   // [V]
};

}  // namespace draftlab

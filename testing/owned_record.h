#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "store/reader.h"

namespace draftlab {

// For tests: a store record with its own memory. Taps are zeros of the given width unless set;
// final hidden states are missing.
struct OwnedRecord {
  std::vector<int32_t> token_ids, target_argmax;
  std::vector<uint8_t> loss_mask;
  std::vector<uint16_t> taps, final_hidden;

  OwnedRecord(std::vector<int32_t> ids, std::vector<uint8_t> mask, int64_t tap_width = 1)
      : token_ids(std::move(ids)),
        target_argmax(token_ids.size(), 0),
        loss_mask(std::move(mask)),
        taps(token_ids.size() * tap_width, 0) {}

  StoreRecord view() const {
    return {nullptr, token_ids, loss_mask, target_argmax, taps, final_hidden};
  }
};

}  // namespace draftlab

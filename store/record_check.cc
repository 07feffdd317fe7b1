#include "store/record_check.h"

#include <algorithm>

namespace draftlab {
namespace {

bool is_finite_bf16(uint16_t bits) { return (bits & 0x7f80) != 0x7f80; }

// Of `values`, those that are not finite; counted, since a search cannot be vectorized.
bool all_finite(std::span<const uint16_t> values) {
  size_t broken = 0;
  for (const uint16_t bits : values) broken += !is_finite_bf16(bits);
  return broken == 0;
}

int64_t first_broken(std::span<const uint16_t> values) {
  return std::ranges::find_if_not(values, is_finite_bf16) - values.begin();
}

void check_ids(std::span<const int32_t> ids, const char* what, int64_t vocab_size,
               std::vector<std::string>& faults) {
  for (size_t s = 0; s < ids.size(); ++s) {
    if (ids[s] >= 0 && ids[s] < vocab_size) continue;
    faults.push_back(std::string(what) + " holds " + std::to_string(ids[s]) + " at position " +
                     std::to_string(s) + ", outside of the vocabulary of " +
                     std::to_string(vocab_size));
    return;
  }
}

}  // namespace

std::vector<std::string> faults_of(const StoreRecord& record, const StoreManifest& manifest) {
  std::vector<std::string> faults;
  check_ids(record.token_ids, "token_ids", manifest.vocab_size, faults);
  check_ids(record.target_argmax, "target_argmax", manifest.vocab_size, faults);
  for (int64_t s = 0; s < record.entry->length; ++s) {
    if (record.loss_mask[s] == (s >= record.entry->prompt_length)) continue;
    faults.push_back("loss_mask is wrong at position " + std::to_string(s));
    break;
  }
  if (!all_finite(record.taps)) {
    const int64_t tap = first_broken(record.taps) / manifest.hidden_size,
                  taps = static_cast<int64_t>(manifest.taps.size());
    faults.push_back("a tap of layer " + std::to_string(manifest.taps[tap % taps]) +
                     " is not a finite number at position " + std::to_string(tap / taps));
  }
  if (!all_finite(record.final_hidden)) {
    faults.push_back("the final hidden state is not a finite number at position " +
                     std::to_string(first_broken(record.final_hidden) / manifest.hidden_size));
  }
  return faults;
}

}  // namespace draftlab

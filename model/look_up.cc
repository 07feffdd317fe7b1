#include "model/look_up.h"

#include <algorithm>

namespace draftlab {
namespace {

// For each end i < size - 1 of a part of the text: how many tokens before and at it equal the
// text's last ones. The Z-function of the reversed text.
std::vector<int64_t> common_suffixes(std::span<const int32_t> text) {
  const auto size = std::ssize(text);
  const auto at = [&](int64_t i) { return text[size - 1 - i]; };  // reversed
  std::vector<int64_t> common(size, 0);
  int64_t begin = 0, end = 0;  // the match that reaches furthest
  for (int64_t i = 1; i < size; ++i) {
    int64_t length = i < end ? std::min(end - i, common[i - begin]) : 0;
    while (i + length < size && at(length) == at(i + length)) ++length;
    common[i] = length;
    if (i + length > end) begin = i, end = i + length;
  }
  std::ranges::reverse(common);
  return common;
}

}  // namespace

std::vector<int32_t> look_up(std::span<const int32_t> text, int64_t count) {
  if (text.empty()) return {};
  const std::vector<int64_t> common = common_suffixes(text);
  int64_t best = 0;  // the end of the longest match
  for (int64_t i = 0; i + 1 < std::ssize(text); ++i)
    if (common[i] >= common[best]) best = i;
  if (std::ssize(text) < 2 || common[best] == 0) return {};
  std::vector<int32_t> draft;
  for (int64_t i = best + 1; std::ssize(draft) < count; ++i)
    draft.push_back(i < std::ssize(text) ? text[i] : draft[i - std::ssize(text)]);
  return draft;
}

std::vector<int64_t> look_up_drafts(std::span<const AnchoredSequence> sequences,
                                    int64_t block_size) {
  std::vector<int64_t> ids;
  for (const auto& [record, anchors] : sequences) {
    for (const int64_t anchor : anchors) {
      const std::vector<int32_t> draft =
          look_up(record.token_ids.first(anchor + 1), block_size - 1);
      ids.push_back(-1);
      ids.insert(ids.end(), draft.begin(), draft.end());
      ids.resize(ids.size() + block_size - 1 - draft.size(), -1);
    }
  }
  return ids;
}

}  // namespace draftlab

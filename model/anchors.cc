#include "model/anchors.h"

#include <algorithm>
#include <string>
#include <utility>

#include "base/random.h"

namespace draftlab {
namespace {

// Positions that start a run of at least `length` supervised tokens.
std::vector<int64_t> supervised_runs(std::span<const uint8_t> loss_mask, int64_t length) {
  std::vector<int64_t> starts;
  int64_t run = 0;
  for (int64_t s = static_cast<int64_t>(loss_mask.size()) - 1; s >= 0; --s) {
    run = loss_mask[s] ? run + 1 : 0;
    if (run >= length) starts.push_back(s);
  }
  std::reverse(starts.begin(), starts.end());
  return starts;
}

}  // namespace

std::vector<int64_t> eligible_anchors(std::span<const uint8_t> loss_mask) {
  return supervised_runs(loss_mask, 2);
}

std::vector<int64_t> draw_anchors(std::span<const uint8_t> loss_mask, int64_t count,
                                  int64_t noise_seed, int64_t record, int64_t visit) {
  std::vector<int64_t> anchors = eligible_anchors(loss_mask);
  const int64_t eligible = static_cast<int64_t>(anchors.size());
  if (count >= eligible) return anchors;
  Random random(noise_seed, "anchors of record " + std::to_string(record), visit);
  for (int64_t i = 0; i < count; ++i)
    std::swap(anchors[i], anchors[i + random.below(eligible - i)]);
  anchors.resize(count);
  std::sort(anchors.begin(), anchors.end());
  return anchors;
}

std::vector<int64_t> evaluation_anchors(std::span<const uint8_t> loss_mask, int64_t block_size,
                                        int64_t stride) {
  const std::vector<int64_t> starts = supervised_runs(loss_mask, block_size);
  std::vector<int64_t> anchors;
  for (size_t i = 0; i < starts.size(); i += stride) anchors.push_back(starts[i]);
  return anchors;
}

}  // namespace draftlab

#include "target_model/loop_detector.h"

#include <algorithm>

namespace draftlab {
namespace {

constexpr int64_t kRun = 4, kOccurrences = 4;

}  // namespace

std::optional<int64_t> LoopDetector::add(int32_t token) {
  tokens_.push_back(token);
  const int64_t begin = static_cast<int64_t>(tokens_.size()) - kRun;
  if (begin < 0) return std::nullopt;
  Occurrences& run = runs_[{tokens_.begin() + begin, tokens_.end()}];
  if (++run.count == 1) run.kept = begin + kRun;
  if (run.count == 2) run.kept = std::max(run.kept, begin);
  if (run.count < kOccurrences) return std::nullopt;
  return run.kept;
}

}  // namespace draftlab

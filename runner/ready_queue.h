#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <queue>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "record/outcome.h"
#include "record/plan.h"

namespace draftlab {

// Which segments can start now: those whose parent is done. The one with the most steps on the
// longest path below it comes first, among equals the earlier in the plan. Knows nothing of
// processes.
class ReadyQueue {
 public:
  // `finished`: segments with a result from before (done or diverged), by id; they never run again.
  // `segments` must outlive the queue.
  ReadyQueue(const std::vector<PlannedSegment>& segments,
             const std::unordered_map<std::string, OutcomeKind>& finished);

  // Takes the next one; nothing while all ready ones are taken.
  std::optional<size_t> next();
  // A segment that next() gave has ended; done lets its children start, all else blocks them.
  void ended(size_t segment, OutcomeKind outcome);

  // Segments that cannot run because a segment they start from is not done, with that one's id.
  const std::vector<std::pair<size_t, std::string>>& blocked() const { return blocked_; }

 private:
  void offer(size_t segment);
  void block(size_t segment, const std::string& cause);

  const std::vector<PlannedSegment>& segments_;
  std::vector<std::vector<size_t>> children_;
  std::vector<int64_t> path_steps_;  // own steps and those of the longest path below
  std::vector<std::optional<OutcomeKind>> results_;         // from before
  std::priority_queue<std::pair<int64_t, int64_t>> ready_;  // (path steps, -index)
  std::vector<std::pair<size_t, std::string>> blocked_;
};

}  // namespace draftlab

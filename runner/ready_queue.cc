#include "runner/ready_queue.h"

#include <algorithm>

#include "base/error.h"

namespace draftlab {

ReadyQueue::ReadyQueue(const std::vector<PlannedSegment>& segments,
                       const std::unordered_map<std::string, OutcomeKind>& finished)
    : segments_(segments),
      children_(segments.size()),
      path_steps_(segments.size()),
      results_(segments.size()) {
  std::unordered_map<std::string, size_t> index;
  std::vector<size_t> roots;
  for (size_t i = 0; i < segments.size(); ++i) {
    const SegmentConfig& config = segments[i].config;
    if (config.parent.empty()) {
      roots.push_back(i);
    } else {
      const auto parent = index.find(config.parent);
      if (parent == index.end()) {
        throw Error("plan",
                    "segment " + segments[i].id + " comes before its parent " + config.parent);
      }
      children_[parent->second].push_back(i);
    }
    index.emplace(segments[i].id, i);
  }
  for (size_t i = segments.size(); i-- > 0;) {  // children come after their parents
    const SegmentConfig& config = segments[i].config;
    int64_t below = 0;
    for (size_t child : children_[i]) below = std::max(below, path_steps_[child]);
    path_steps_[i] = config.to_step - config.from_step + below;
  }
  for (const auto& [id, outcome] : finished) {
    if (const auto found = index.find(id); found != index.end()) results_[found->second] = outcome;
  }
  for (size_t root : roots) offer(root);
}

std::optional<size_t> ReadyQueue::next() {
  if (ready_.empty()) return std::nullopt;
  const size_t segment = -ready_.top().second;
  ready_.pop();
  return segment;
}

void ReadyQueue::ended(size_t segment, OutcomeKind outcome) {
  for (size_t child : children_[segment]) {
    if (outcome == OutcomeKind::kDone) {
      offer(child);
    } else {
      block(child, segments_[segment].id);
    }
  }
}

void ReadyQueue::offer(size_t segment) {
  if (results_[segment]) {
    ended(segment, *results_[segment]);
  } else {
    ready_.emplace(path_steps_[segment], -static_cast<int64_t>(segment));
  }
}

void ReadyQueue::block(size_t segment, const std::string& cause) {
  if (!results_[segment]) blocked_.emplace_back(segment, cause);
  for (size_t child : children_[segment]) block(child, cause);
}

}  // namespace draftlab

#pragma once

#include <algorithm>
#include <deque>
#include <functional>
#include <map>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "record/outcome.h"
#include "runner/launcher.h"

namespace draftlab {

// Workers for tests: nothing runs, and each wait_any lets the worker that started first end, as its
// script says; by default it is done.
class FakeLauncher : public Launcher {
 public:
  // What a worker does when its turn comes: writes into its folder, or ends without a word.
  using Script = std::function<WorkerExit(const PlannedSegment&, const SegmentFolder&)>;

  static WorkerExit end_as(OutcomeKind kind, const PlannedSegment& segment,
                           const SegmentFolder& folder) {
    Outcome outcome;
    outcome.kind = kind;
    outcome.segment = segment.id;
    outcome.step = segment.config.to_step;
    if (kind != OutcomeKind::kDone) outcome.reason = "as the test asked";
    write_outcome(folder.outcome(), outcome);
    return {segment.id, "", ""};
  }

  void start(const PlannedSegment& segment, const SegmentFolder& folder) override {
    if (refused.count(segment.id)) throw std::runtime_error("no such worker");
    started.push_back(segment.id);
    workers_.push_back({segment, folder});
    most_at_once = std::max(most_at_once, workers_.size());
  }
  std::optional<WorkerExit> wait_any(double) override {
    if (workers_.empty() || (!asked && polls_left-- > 0)) return std::nullopt;
    if (ignores_stop && asked && !killed) return std::nullopt;
    const auto [segment, folder] = workers_.front();
    workers_.pop_front();
    if (killed) return WorkerExit{segment.id, "was killed by signal 9 (Killed)", ""};
    if (asked) return end_as(OutcomeKind::kInterrupted, segment, folder);
    const auto script = scripts.find(segment.id);
    if (script != scripts.end()) return script->second(segment, folder);
    return end_as(OutcomeKind::kDone, segment, folder);
  }
  void ask_to_stop() override { asked = true; }
  void kill() override { killed = true; }
  size_t running() const override { return workers_.size(); }

  std::map<std::string, Script> scripts;  // by segment id
  std::set<std::string> refused;          // cannot be started
  int polls_left = 0;                     // waits that see no end, while nobody asks to stop
  bool ignores_stop = false;
  std::vector<std::string> started;  // ids, in order
  size_t most_at_once = 0;
  bool asked = false, killed = false;

 private:
  std::deque<std::pair<PlannedSegment, SegmentFolder>> workers_;
};

}  // namespace draftlab

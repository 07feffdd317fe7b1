#pragma once

#include <functional>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "record/events.h"
#include "record/outcome.h"
#include "record/plan.h"
#include "record/run_folder.h"
#include "runner/launcher.h"
#include "runner/progress_display.h"
#include "runner/ready_queue.h"

namespace draftlab {

struct SchedulerOptions {
  int jobs = 1;                     // workers at once
  double grace_seconds = 60;        // between asking workers to stop and killing them
  std::function<int()> interrupts;  // how often the user has asked to stop
  std::function<double()> now;      // seconds since 1970
};

struct ScheduleResult {
  std::unordered_map<std::string, Outcome> outcomes;  // by segment id, those from before included
  std::vector<std::pair<std::string, std::string>> blocked;  // segment, the one it waits for
  bool interrupted = false;

  // Every segment has a result: done or diverged, or blocked by a diverged one.
  bool all_finished(const PlanRecord& plan) const;
};

// The outcomes on disk. One that cannot be read counts as failed, with the reason.
std::unordered_map<std::string, Outcome> read_outcomes(const RunFolder& folder,
                                                       const PlanRecord& plan);

// Runs what has no result yet, ready segments first come first by the longest path below them,
// `jobs` at once. A segment that fails stops nothing but the segments that start from it. After an
// interrupt it starts no more, asks the workers to stop, and kills them after the grace period or a
// second interrupt. Writes the outcome of a worker that died without one.
class Scheduler {
 public:
  Scheduler(const RunFolder& folder, const PlanRecord& plan, Launcher& launcher,
            ProgressDisplay& progress, SchedulerOptions options);
  ScheduleResult run();

 private:
  void start(size_t segment);
  void end(size_t segment, Outcome outcome);
  void wait_a_little();
  void stop_workers();
  Outcome outcome_of(size_t segment, const WorkerExit& exit) const;

  const RunFolder& folder_;
  const PlanRecord& plan_;
  Launcher& launcher_;
  ProgressDisplay& progress_;
  SchedulerOptions options_;
  ScheduleResult result_;
  std::unordered_map<std::string, size_t> index_;
  std::optional<ReadyQueue> queue_;
  std::optional<EventLog> events_;
};

}  // namespace draftlab

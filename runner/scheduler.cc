#include "runner/scheduler.h"

#include <algorithm>

#include "base/error.h"
#include "base/file.h"
#include "record/progress.h"
#include "record/segment_state.h"

namespace draftlab {
namespace {

// The last step known of a segment whose worker ended without an outcome.
int64_t last_step(const SegmentFolder& folder, int64_t from_step) {
  const auto progress = read_progress(folder.progress());
  return std::max({read_segment_state(folder, from_step).step, progress ? progress->step : 0,
                   folder.last_checkpoint().value_or(0)});
}

}  // namespace

bool ScheduleResult::all_finished(const PlanRecord& plan) const {
  for (const PlannedSegment& segment : plan.segments) {
    const auto found = outcomes.find(segment.id);
    if (found != outcomes.end() && is_result(found->second.kind)) continue;
    const auto block = std::find_if(blocked.begin(), blocked.end(),
                                    [&](const auto& each) { return each.first == segment.id; });
    if (block == blocked.end()) return false;
    const auto cause = outcomes.find(block->second);
    if (cause == outcomes.end() || cause->second.kind != OutcomeKind::kDiverged) return false;
  }
  return true;
}

std::unordered_map<std::string, Outcome> read_outcomes(const RunFolder& folder,
                                                       const PlanRecord& plan) {
  std::unordered_map<std::string, Outcome> outcomes;
  for (const PlannedSegment& segment : plan.segments) {
    const auto outcome = outcome_on_disk(SegmentFolder(folder, segment.id));
    if (outcome) outcomes.emplace(segment.id, *outcome);
  }
  return outcomes;
}

Scheduler::Scheduler(const RunFolder& folder, const PlanRecord& plan, Launcher& launcher,
                     ProgressDisplay& progress, SchedulerOptions options)
    : folder_(folder),
      plan_(plan),
      launcher_(launcher),
      progress_(progress),
      options_(std::move(options)) {
  for (size_t i = 0; i < plan.segments.size(); ++i) index_.emplace(plan.segments[i].id, i);
}

ScheduleResult Scheduler::run() {
  std::unordered_map<std::string, OutcomeKind> finished;
  for (const auto& [id, outcome] : read_outcomes(folder_, plan_)) {
    if (!is_result(outcome.kind)) continue;
    finished.emplace(id, outcome.kind);
    result_.outcomes.emplace(id, outcome);
    progress_.finished_before(index_.at(id));
  }
  queue_.emplace(plan_.segments, finished);
  events_.emplace(folder_.events());
  while (true) {
    if (options_.interrupts() > 0) {
      stop_workers();
      break;
    }
    while (static_cast<int>(launcher_.running()) < options_.jobs) {
      const auto segment = queue_->next();
      if (!segment) break;
      start(*segment);
    }
    if (launcher_.running() == 0) break;
    wait_a_little();
  }
  for (const auto& [segment, cause] : queue_->blocked()) {
    result_.blocked.emplace_back(plan_.segments[segment].id, cause);
    if (!result_.interrupted) progress_.blocked(segment, cause);
  }
  progress_.close();
  return std::move(result_);
}

void Scheduler::start(size_t segment) {
  const PlannedSegment& planned = plan_.segments[segment];
  const SegmentFolder folder(folder_, planned.id);
  const double now = options_.now();
  try {
    make_folder(folder.root());
    std::filesystem::remove(folder.outcome());  // of an earlier life
    std::filesystem::remove(folder.progress());
    write_task(folder.task(),
               {planned.id, planned.config, plan_.store_folder, plan_.checkpoint_every});
    events_->start({planned.id, now, 0, "", planned.config.training.threads});
    launcher_.start(planned, folder);
  } catch (const std::exception& error) {
    Outcome outcome;
    outcome.segment = planned.id;
    outcome.reason = error.what();
    end(segment, outcome);
    return;
  }
  progress_.started(segment, now);
}

void Scheduler::wait_a_little() {
  constexpr double kSeconds = 0.25;  // how often progress is looked at
  if (const auto exit = launcher_.wait_any(kSeconds)) {
    const size_t segment = index_.at(exit->segment);
    end(segment, outcome_of(segment, *exit));
  }
  progress_.tick(options_.now());
}

void Scheduler::stop_workers() {
  result_.interrupted = true;
  if (launcher_.running() == 0) return;
  const int asked = options_.interrupts();
  const double deadline = options_.now() + options_.grace_seconds;
  progress_.stopping(static_cast<int>(launcher_.running()), options_.grace_seconds);
  launcher_.ask_to_stop();
  while (launcher_.running() > 0) {
    if (options_.interrupts() > asked || options_.now() >= deadline) launcher_.kill();
    wait_a_little();
  }
}

Outcome Scheduler::outcome_of(size_t segment, const WorkerExit& exit) const {
  const PlannedSegment& planned = plan_.segments[segment];
  const SegmentFolder folder(folder_, planned.id);
  if (auto written = outcome_on_disk(folder)) return *std::move(written);
  Outcome outcome;
  outcome.segment = exit.segment;
  outcome.step = last_step(folder, planned.config.from_step);
  outcome.reason =
      exit.failure.empty() ? "the worker ended without an outcome" : "the worker " + exit.failure;
  if (!exit.last_line.empty()) outcome.reason += ": " + exit.last_line;
  if (result_.interrupted) outcome.kind = OutcomeKind::kInterrupted;
  return outcome;
}

void Scheduler::end(size_t segment, Outcome outcome) {
  const std::string& id = plan_.segments[segment].id;
  const SegmentFolder folder(folder_, id);
  const double now = options_.now();
  try {
    if (!std::filesystem::exists(folder.outcome())) write_outcome(folder.outcome(), outcome);
    events_->end({id, 0, now, outcome_name(outcome.kind), 1});
  } catch (const Error& error) {
    // Most likely a full disk. The other workers go on, and what is on disk is still true.
    outcome.reason += (outcome.reason.empty() ? "" : "; ") + std::string(error.what());
  }
  progress_.ended(segment, outcome, now);
  queue_->ended(segment, outcome.kind);
  result_.outcomes[id] = std::move(outcome);
}

}  // namespace draftlab

#include "runner/status.h"

#include <algorithm>
#include <map>
#include <unordered_map>

#include "base/error.h"
#include "base/number_text.h"
#include "record/progress.h"
#include "record/segment_state.h"
#include "runner/terminal_text.h"
#include "runner/worker_lock.h"

namespace draftlab {
namespace {

// What one segment adds to its runs.
struct SegmentStatus {
  std::string state, reason;
  int64_t step = 0;
  std::optional<double> val_loss, acceptance_length;
  double train_seconds = 0;
};

SegmentStatus segment_status(const SegmentFolder& folder, int64_t from_step) {
  SegmentStatus status;
  // Asked before the outcome is read: a worker that ends in between has then written it.
  const bool lives = worker_lives(folder.lock());
  const SegmentState state = read_segment_state(folder, from_step);
  status.step = state.step;
  for (const StepRow& row : state.metrics.steps)
    status.train_seconds += row.data_seconds + row.model_seconds + row.optimizer_seconds;
  for (const EvaluationRow& row : state.metrics.evaluations) {
    if (row.split != "held_out") continue;
    status.val_loss = row.loss;
    status.acceptance_length = row.acceptance_length;
  }
  if (!state.broken.empty()) {
    status.state = "failed";
    status.reason = state.broken;
    return status;
  }
  if (state.outcome) {
    status.state = outcome_name(state.outcome->kind);
    status.reason = state.outcome->reason;
    return status;
  }
  status.state = !state.started ? "waiting" : lives ? "running" : "interrupted";
  if (const auto progress = read_progress(folder.progress()); lives && progress)
    status.step = std::max(status.step, progress->step);
  return status;
}

std::string number_or_dash(const std::optional<double>& value, int decimals) {
  return value ? fixed(*value, decimals) : "-";
}

}  // namespace

std::vector<RunStatus> read_status(const RunFolder& folder, const PlanRecord& plan) {
  std::unordered_map<std::string, SegmentStatus> segments;
  std::unordered_map<std::string, int64_t> to_step;
  for (const PlannedSegment& segment : plan.segments) {
    segments[segment.id] =
        segment_status(SegmentFolder(folder, segment.id), segment.config.from_step);
    to_step[segment.id] = segment.config.to_step;
  }
  std::vector<RunStatus> runs;
  for (const PlannedRun& planned : plan.runs) {
    RunStatus run;
    run.run = planned.name;
    run.steps = to_step.at(planned.segments.back());
    for (const std::string& id : planned.segments) {
      const SegmentStatus& segment = segments.at(id);
      run.state = segment.state;
      run.reason = segment.reason;
      run.step = segment.step;
      if (segment.val_loss) run.val_loss = segment.val_loss;
      if (segment.acceptance_length) run.acceptance_length = segment.acceptance_length;
      run.train_seconds += segment.train_seconds;
      if (segment.state != "done") break;
    }
    runs.push_back(std::move(run));
  }
  return runs;
}

std::string text_of(const std::vector<RunStatus>& runs) {
  std::vector<std::vector<std::string>> rows;
  std::map<std::string, int> counts;
  for (const RunStatus& run : runs) {
    ++counts[run.state];
    rows.push_back({printable(run.run), run.state,
                    std::to_string(run.step) + "/" + std::to_string(run.steps),
                    number_or_dash(run.val_loss, 4), number_or_dash(run.acceptance_length, 3),
                    fixed(run.train_seconds, 1), printable(run.reason)});
  }
  std::string text = table({"run", "state", "step", "val_loss", "acceptance_length", "seconds", ""},
                           rows, {false, false, true, true, true, true, false});
  text += std::to_string(runs.size()) + (runs.size() == 1 ? " run:" : " runs:");
  for (const auto& [state, count] : counts) {
    text += (state == counts.begin()->first ? " " : ", ") + std::to_string(count) + " " + state;
  }
  return text + "\n";
}

}  // namespace draftlab

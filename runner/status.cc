#include "runner/status.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <unordered_map>

#include "base/error.h"
#include "base/number_text.h"
#include "base/terminal_text.h"
#include "record/choice.h"
#include "record/progress.h"
#include "record/segment_state.h"
#include "record/timing.h"
#include "runner/estimate.h"
#include "runner/worker_lock.h"

namespace draftlab {
namespace {

// What one segment adds to its runs.
struct SegmentStatus {
  std::string state, reason;
  int64_t step = 0;
  std::optional<double> val_loss, acceptance_length, train_loss, steps_per_second;
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
  if (!state.metrics.steps.empty()) status.train_loss = state.metrics.steps.back().loss;
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
  if (const auto progress = read_progress(folder.progress()); lives && progress) {
    status.step = std::max(status.step, progress->step);
    status.steps_per_second = progress->steps_per_second;
  }
  return status;
}

std::string number_or_dash(const std::optional<double>& value, int decimals) {
  return value ? fixed(*value, decimals) : "-";
}

// Until all segments are done, by the pace of those that run and have run; nothing where there is
// none yet, or nothing is left. `segments` are in the plan's order.
std::optional<double> seconds_left(const RunFolder& folder, const PlanRecord& plan,
                                   const std::vector<SegmentStatus>& segments) {
  const auto measured = measured_seconds_per_step(folder, plan);
  std::map<std::string, double> pace;  // seconds a step, by what it depends on
  int workers = 0;
  for (size_t i = 0; i < segments.size(); ++i) {
    const auto& rate = segments[i].steps_per_second;
    if (!rate || !(*rate > 0)) continue;
    ++workers;
    pace.try_emplace(step_identity(plan.segments[i].config), 1 / *rate);
  }
  for (const auto& [kind, seconds] : measured) pace[kind] = seconds;
  if (pace.empty()) return std::nullopt;
  double known = 0;
  for (const auto& [kind, seconds] : pace) known += seconds;
  std::vector<double> seconds;
  bool any = false;
  for (size_t i = 0; i < segments.size(); ++i) {
    const SegmentConfig& config = plan.segments[i].config;
    const bool ended = segments[i].state == "done" || segments[i].state == "diverged";
    const auto found = pace.find(step_identity(config));
    const double each =
        found == pace.end() ? known / static_cast<double>(pace.size()) : found->second;
    any |= !ended;
    seconds.push_back(ended ? 0 : each * static_cast<double>(config.to_step - segments[i].step));
  }
  if (!any) return std::nullopt;
  return wall_time(plan, seconds, std::max(1, workers));
}

}  // namespace

PlanStatus read_status(const RunFolder& folder, const PlanRecord& plan) {
  std::vector<SegmentStatus> segments;
  std::unordered_map<std::string, size_t> index;  // by segment
  for (const PlannedSegment& segment : plan.segments) {
    index[segment.id] = segments.size();
    segments.push_back(segment_status(SegmentFolder(folder, segment.id), segment.config.from_step));
  }
  PlanStatus status;
  for (const PlannedRun& planned : plan.runs) {
    RunStatus run;
    run.run = planned.name;
    run.arm = planned.arm;
    run.phase = planned.phase;
    run.steps = plan.segments[index.at(planned.segments.back())].config.to_step;
    for (const std::string& id : planned.segments) {
      const SegmentStatus& segment = segments[index.at(id)];
      run.state = segment.state;
      run.reason = segment.reason;
      run.step = segment.step;
      if (segment.val_loss) run.val_loss = segment.val_loss;
      if (segment.acceptance_length) run.acceptance_length = segment.acceptance_length;
      if (segment.train_loss) run.train_loss = segment.train_loss;
      run.steps_per_second = segment.steps_per_second;
      run.train_seconds += segment.train_seconds;
      const std::filesystem::path log = SegmentFolder(folder, id).log();
      if (segment.state != "waiting" && std::filesystem::exists(log))
        run.log = log.lexically_relative(folder.root()).string();
      if (segment.state != "done") break;
    }
    status.runs.push_back(std::move(run));
  }
  status.seconds_left = seconds_left(folder, plan, segments);
  return status;
}

std::string best_so_far(const std::vector<RunStatus>& runs, const PlanRecord& plan) {
  const std::string metric = plan.target.metric.empty() ? kUsualMetric : plan.target.metric;
  struct Sum {
    double value = 0;
    int64_t done = 0, of = 0;
  };
  // A setting each, so that an arm's worse rates are not in its mean.
  std::map<std::pair<std::string, std::string>, Sum> sums;
  for (size_t i = 0; i < runs.size(); ++i) {
    const RunStatus& run = runs[i];
    if (run.phase == kTrial) continue;
    Sum& sum = sums[{run.arm, plan.runs[i].point}];
    ++sum.of;
    const auto& value = metric == "val_loss" ? run.val_loss : run.acceptance_length;
    if (run.state != "done" || !value || std::isnan(*value)) continue;
    sum.value += *value;
    ++sum.done;
  }
  const std::pair<const std::pair<std::string, std::string>, Sum>* best = nullptr;
  const auto mean = [](const Sum& sum) { return sum.value / static_cast<double>(sum.done); };
  for (const auto& each : sums) {
    if (each.second.done == 0) continue;
    const bool first = best == nullptr;
    if (first || (lower_is_better(metric) ? mean(each.second) < mean(best->second)
                                          : mean(each.second) > mean(best->second)))
      best = &each;
  }
  if (best == nullptr) return "";
  const auto& [setting, sum] = *best;
  return printable(setting.first + (setting.second.empty() ? "" : " " + setting.second)) + ", " +
         metric + " " + fixed(mean(sum), 3) + " over " + std::to_string(sum.done) + " of " +
         std::to_string(sum.of) + (sum.of == 1 ? " run" : " runs");
}

std::string text_of(const std::vector<RunStatus>& runs) {
  std::vector<std::vector<std::string>> rows;
  std::map<std::string, int> counts;
  const bool running = std::ranges::any_of(
      runs, [](const RunStatus& run) { return run.steps_per_second.has_value(); });
  for (const RunStatus& run : runs) {
    ++counts[run.state];
    rows.push_back({printable(run.run), run.state,
                    std::to_string(run.step) + "/" + std::to_string(run.steps),
                    number_or_dash(run.val_loss, 4), number_or_dash(run.acceptance_length, 3),
                    fixed(run.train_seconds, 1)});
    if (running) {
      rows.back().push_back(number_or_dash(run.train_loss, 4));
      rows.back().push_back(run.steps_per_second ? significant(*run.steps_per_second, 2) : "-");
    }
    rows.back().push_back(printable(run.reason));
  }
  std::vector<std::string> head = {"run",    "state", "step", "val_loss", "acceptance_length",
                                   "seconds"};
  std::vector<bool> right = {false, false, true, true, true, true};
  if (running) {
    head.insert(head.end(), {"train_loss", "steps/s"});
    right.insert(right.end(), {true, true});
  }
  head.emplace_back("");
  right.push_back(false);
  std::string text = table(head, rows, right);
  text += std::to_string(runs.size()) + (runs.size() == 1 ? " run:" : " runs:");
  for (const auto& [state, count] : counts) {
    text += (state == counts.begin()->first ? " " : ", ") + std::to_string(count) + " " + state;
  }
  return text + "\n";
}

JsonArray to_json(const std::vector<RunStatus>& runs) {
  const auto known = [](const std::optional<double>& value) {
    return value && std::isfinite(*value) ? Json(*value) : Json(nullptr);
  };
  JsonArray list;
  for (const RunStatus& run : runs) {
    list.push_back(JsonObject{{"run", run.run},
                              {"arm", run.arm},
                              {"phase", run.phase},
                              {"state", run.state},
                              {"reason", run.reason},
                              {"step", run.step},
                              {"steps", run.steps},
                              {"val_loss", known(run.val_loss)},
                              {"acceptance_length", known(run.acceptance_length)},
                              {"train_loss", known(run.train_loss)},
                              {"steps_per_second", known(run.steps_per_second)},
                              {"train_seconds", run.train_seconds},
                              {"log", run.log}});
  }
  return list;
}

}  // namespace draftlab

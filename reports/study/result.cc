#include "reports/study/result.h"

#include <algorithm>
#include <limits>
#include <map>
#include <set>

#include "base/error.h"
#include "record/events.h"
#include "record/origin.h"
#include "record/outcome.h"
#include "record/segment_state.h"
#include "reports/stats/decimate.h"
#include "reports/study/company.h"
#include "reports/study/probe.h"

namespace draftlab {
namespace {

namespace fs = std::filesystem;

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

using Configs = std::map<std::string, const SegmentConfig*>;  // by segment id

Configs configs_of(const PlanRecord& plan) {
  Configs configs;
  for (const PlannedSegment& segment : plan.segments) configs[segment.id] = &segment.config;
  return configs;
}

// Sums up the steps from each evaluation to the next.
void add_gradients(const Metrics& metrics, double base_rate, Result& result) {
  std::set<int64_t> ends;
  for (const EvaluationRow& row : metrics.evaluations) ends.insert(row.step);
  GradientRow sum;
  int64_t steps = 0;
  for (const StepRow& row : metrics.steps) {
    sum.norm += row.gradient_norm;
    sum.clipped_share += row.clipped;
    ++steps;
    if (!ends.contains(row.step)) continue;
    const double n = static_cast<double>(steps);
    result.gradients.push_back(
        {row.step, sum.norm / n, sum.clipped_share / n, row.learning_rate / base_rate});
    sum = {};
    steps = 0;
  }
}

constexpr size_t kScheduleColumns = 200;  // as fine as a chart can show it

void add_schedule(const Metrics& metrics, double base_rate, Result& result) {
  std::vector<Point> schedule;
  for (const StepRow& row : metrics.steps)
    schedule.push_back({static_cast<double>(row.step), row.learning_rate / base_rate});
  schedule = decimated(schedule, kScheduleColumns);
  result.schedule.insert(result.schedule.end(), schedule.begin(), schedule.end());
}

// Appends one segment's numbers to the run's.
void add_metrics(Metrics metrics, const SegmentConfig& config, Result& result,
                 int64_t& clipped_steps) {
  for (const StepRow& row : metrics.steps) {
    result.unlabelled_steps += row.tokens == result.tokens;
    result.tokens = row.tokens;
    result.data_seconds += row.data_seconds;
    result.model_seconds += row.model_seconds;
    result.optimizer_seconds += row.optimizer_seconds;
    clipped_steps += row.clipped;
  }
  result.train_seconds = result.data_seconds + result.model_seconds + result.optimizer_seconds;
  const std::vector<Pause> found = pauses(metrics.steps, step_period(config));
  result.pauses.insert(result.pauses.end(), found.begin(), found.end());
  result.updates.insert(result.updates.end(), metrics.updates.begin(), metrics.updates.end());
  add_gradients(metrics, config.optimizer.learning_rate(), result);
  add_schedule(metrics, config.optimizer.learning_rate(), result);
  for (EvaluationRow& row : metrics.evaluations) {
    (row.split == "tuning" ? result.tuning : result.held_out).push_back(std::move(row));
  }
}

void describe_end(const SegmentState& state, Result& result) {
  const std::string progress = "step " + std::to_string(result.steps) + " of " +
                               std::to_string(result.config.training.steps);
  if (!state.outcome) {
    result.outcome = state.started ? "unfinished" : "not started";
    result.reason = state.started ? "stopped or still running; last recorded: " + progress
                                  : "nothing has run yet";
    return;
  }
  result.outcome = outcome_name(state.outcome->kind);
  result.weights_hash = state.outcome->weights_hash;
  result.reason = state.outcome->reason;
  if (result.done()) return;
  if (result.reason.empty()) result.reason = "ended at " + progress;
}

void load_segments(const RunFolder& folder, const Configs& configs, Result& result) {
  int64_t clipped_steps = 0;
  for (size_t i = 0; i < result.segments.size(); ++i) {
    const std::string& id = result.segments[i];
    const SegmentConfig& config = *configs.at(id);
    const SegmentFolder segment(folder, id);
    if (fs::exists(segment.transfer()))
      result.stages[i].transfer = read_transfer(segment.transfer());
    SegmentState state = read_segment_state(segment, config.from_step);
    add_metrics(std::move(state.metrics), config, result, clipped_steps);
    read_timing(segment.timing());  // a broken one is told here
    if (i + 1 == result.segments.size()) result.decoding = read_decoding(segment.decoding());
    if (fs::exists(segment.baselines())) result.baselines = read_baselines(segment.baselines());
    const std::vector<Life> lives = contributing(read_lives(segment.provenance()));
    result.resumed |= lives.size() > 1;
    result.lives.insert(result.lives.end(), lives.begin(), lives.end());
    if (state.started) result.steps = state.step;
    if (!state.broken.empty()) throw Error(state.broken);
    if (state.outcome) {
      result.peak_memory_bytes =
          std::max(result.peak_memory_bytes, state.outcome->peak_memory_bytes);
    }
    describe_end(state, result);
    if (!result.done()) break;
  }
  result.clipped_share =
      result.steps == 0 ? kNaN : static_cast<double>(clipped_steps) / result.steps;
}

void find_target(const TargetLevel& target, Result& result) {
  for (const MeasureKind& kind : measure_kinds()) {
    if (kind.key != target.metric) continue;
    const auto crossing = [&](Clock clock) -> std::optional<double> {
      if (result.diverged()) return kInfinity;
      const double at =
          first_crossing(result.curve(kind.measure, clock), target.value, kind.lower_is_better);
      if (at == kInfinity && !result.done()) return std::nullopt;
      return at;
    };
    result.steps_to_target = crossing(Clock::kSteps);
    result.tokens_to_target = crossing(Clock::kTokens);
    result.seconds_to_target = crossing(Clock::kSeconds);
  }
}

}  // namespace

double time_of(const EvaluationRow& row, Clock clock) {
  switch (clock) {
    case Clock::kSteps:
      return static_cast<double>(row.step);
    case Clock::kTokens:
      return static_cast<double>(row.tokens);
    case Clock::kSeconds:
      return row.train_seconds;
  }
  return kNaN;
}

double Result::first(Split split, Measure measure) const {
  return rows(split).empty() ? kNaN : value_of(rows(split).front(), measure);
}

double Result::last(Split split, Measure measure) const {
  return rows(split).empty() ? kNaN : value_of(rows(split).back(), measure);
}

double Result::final(Split split, Measure measure) const {
  if (rows(split).empty() || rows(split).back().step != config.training.steps) return kNaN;
  return last(split, measure);
}

const std::optional<double>& Result::to_target(Clock clock) const {
  return clock == Clock::kSteps    ? steps_to_target
         : clock == Clock::kTokens ? tokens_to_target
                                   : seconds_to_target;
}

std::vector<Point> Result::curve(Measure measure, Clock clock) const {
  std::vector<Point> points;
  for (const EvaluationRow& row : held_out) {
    points.push_back({time_of(row, clock), value_of(row, measure)});
  }
  return points;
}

std::string seed_text(const Seeds& seeds) {
  if (seeds.weights == seeds.data && seeds.data == seeds.noise) {
    return std::to_string(seeds.weights);
  }
  return "weights " + std::to_string(seeds.weights) + ", data " + std::to_string(seeds.data) +
         ", noise " + std::to_string(seeds.noise);
}

std::vector<Result> planned_results(const PlanRecord& plan) {
  const Configs configs = configs_of(plan);
  std::vector<Result> results;
  for (const PlannedRun& run : plan.runs) {
    Result result;
    result.run = run.name;
    result.arm = run.arm;
    result.point = run.point;
    result.phase = run.phase;
    result.optimizer = run.optimizer;
    result.seeds = run.seeds;
    result.segments = run.segments;
    result.config = *configs.at(run.segments.back());
    for (const std::string& id : run.segments) result.stages.push_back({*configs.at(id), {}});
    results.push_back(std::move(result));
  }
  return results;
}

std::vector<Result> load_results(const RunFolder& folder, const PlanRecord& plan) {
  const Configs configs = configs_of(plan);
  const std::vector<WorkerEvent> events = read_events(folder.events());
  const std::map<std::string, bool> in_company = segments_in_company(events);
  std::map<std::string, int64_t> starts;  // of workers
  for (const WorkerEvent& event : events) ++starts[event.segment];

  const Timings timings = load_timings(folder, plan);
  std::vector<Result> results = planned_results(plan);
  for (Result& result : results) {
    for (const std::string& id : result.segments) {
      const auto found = in_company.find(id);
      if (found == in_company.end()) continue;
      result.resumed |= starts[id] > 1;
      result.alone = result.alone.value_or(true) && !found->second;
    }
    // One broken file must not hide the other runs.
    try {
      for (const std::string& id : result.segments) {
        const auto origin = read_origin(SegmentFolder(folder, id).origin());
        if (!origin || in_company.contains(id)) continue;
        result.resumed |= origin->workers > 1;
        if (origin->alone) result.alone = result.alone.value_or(true) && *origin->alone;
      }
      load_segments(folder, configs, result);
      apply_timings(timings, result);
      const int64_t end = result.config.training.steps;
      if (result.done() && result.phase == kTrial && result.config.to_step < end) {
        result.outcome = "dropped";
        result.reason = "a trial that successive halving ended at step " +
                        std::to_string(result.config.to_step) + " of " + std::to_string(end);
      }
      find_target(plan.target, result);
    } catch (const Error& error) {
      result.outcome = "unreadable";
      result.reason = error.what();
    }
  }
  return results;
}

}  // namespace draftlab

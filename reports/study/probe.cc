#include "reports/study/probe.h"

#include <algorithm>
#include <cmath>
#include <functional>

#include "base/error.h"
#include "base/number_text.h"

namespace draftlab {
namespace {

// Linear between order statistics. REQUIRES: values.
double quantile(std::vector<double> values, double p) {
  std::sort(values.begin(), values.end());
  const double place = p * static_cast<double>(values.size() - 1);
  const auto below = static_cast<size_t>(place);
  const size_t above = std::min(below + 1, values.size() - 1);
  return values[below] + (place - static_cast<double>(below)) * (values[above] - values[below]);
}

// Seconds of one kind in steps 1..step of a run.
double seconds_until(int64_t step, const std::vector<RunStage>& stages,
                     const std::vector<StepTime>& times, double (*of)(const StepTimes&)) {
  double seconds = 0;
  for (size_t i = 0; i < stages.size(); ++i) {
    const SegmentConfig& config = stages[i].config;
    const int64_t steps = std::clamp(step, config.from_step, config.to_step) - config.from_step;
    seconds += static_cast<double>(steps) * of(times[i].parts);
  }
  return seconds;
}

}  // namespace

StepTime step_time(const Timing& timing) {
  const std::vector<StepTimes> samples = timing.samples();
  const auto values = [&](const std::function<double(const StepTimes&)>& of) {
    std::vector<double> list;
    for (const StepTimes& sample : samples) list.push_back(of(sample));
    return list;
  };
  const std::vector<double> totals = values([](const StepTimes& s) { return s.total(); });
  StepTime time;
  time.n = static_cast<int64_t>(samples.size());
  time.low = quantile(totals, 0.25);
  time.high = quantile(totals, 0.75);
  constexpr double StepTimes::*kParts[] = {&StepTimes::data, &StepTimes::forward,
                                           &StepTimes::backward, &StepTimes::orthogonalization,
                                           &StepTimes::rest};
  for (const auto part : kParts)
    time.parts.*part = median(values([&](const StepTimes& s) { return s.*part; }));
  const double sum = time.parts.total();
  const double factor = sum > 0 ? median(totals) / sum : 1;
  for (const auto part : kParts) time.parts.*part *= factor;
  return time;
}

std::string uneven_control(const std::vector<NamedTiming>& timings) {
  constexpr double kSlack = 0.02;
  struct Control {
    double median, spread;
  };
  std::vector<Control> controls;
  for (const NamedTiming& one : timings) {
    std::vector<double> forward;
    for (const StepTimes& sample : one.timing.samples()) forward.push_back(sample.forward);
    controls.push_back({quantile(forward, 0.5), quantile(forward, 0.75) - quantile(forward, 0.25)});
  }
  for (size_t i = 0; i < controls.size(); ++i) {
    for (size_t j = 0; j < i; ++j) {
      const double apart = std::abs(controls[i].median - controls[j].median);
      const double least = std::min(controls[i].median, controls[j].median);
      if (apart <= std::max({controls[i].spread, controls[j].spread, kSlack * least})) continue;
      return "the forward pass, which is the same work, took " +
             significant(controls[j].median, 3) + " s for " + timings[j].name + " and " +
             significant(controls[i].median, 3) + " s for " + timings[i].name;
    }
  }
  return "";
}

std::string step_time_text(const StepTime& time) {
  return significant(time.seconds(), 3) + " s (quartiles " + significant(time.low, 3) + " to " +
         significant(time.high, 3) + ", n " + std::to_string(time.n) + ")";
}

Timings load_timings(const RunFolder& folder, const PlanRecord& plan) {
  Timings timings;
  for (const PlannedSegment& segment : plan.segments) {
    try {
      const auto timing = read_timing(SegmentFolder(folder, segment.id).timing());
      if (timing) timings.emplace(step_identity(segment.config), *timing);
    } catch (const Error&) {
      continue;
    }
  }
  return timings;
}

void apply_timings(const Timings& timings, Result& result) {
  if (timings.empty()) return;
  std::vector<StepTime> times;  // of each stage
  for (const RunStage& stage : result.stages) {
    const auto found = timings.find(step_identity(stage.config));
    result.probe = found == timings.end() ? std::nullopt : std::optional(found->second);
    if (result.probe) times.push_back(step_time(*result.probe));
  }
  if (result.alone != false || times.size() < result.stages.size()) return;
  result.seconds_from_probe = true;
  result.pauses.clear();
  const auto until = [&](int64_t step, double (*of)(const StepTimes&)) {
    return seconds_until(step, result.stages, times, of);
  };
  result.data_seconds = until(result.steps, [](const StepTimes& s) { return s.data; });
  result.model_seconds = until(result.steps, [](const StepTimes& s) { return s.model(); });
  result.optimizer_seconds = until(result.steps, [](const StepTimes& s) { return s.optimizer(); });
  const auto total = [](const StepTimes& s) { return s.total(); };
  result.train_seconds = until(result.steps, total);
  for (auto* rows : {&result.held_out, &result.tuning}) {
    for (EvaluationRow& row : *rows) row.train_seconds = until(row.step, total);
  }
}

}  // namespace draftlab

#include "reports/study/acceptance_summary.h"
#include "reports/study/comparison.h"
#include "reports/study/probe.h"
#include "reports/tables/tables.h"
#include "reports/text/csv.h"

namespace draftlab {
namespace {

// One line: an arm with the setting that is shown of it.
struct Shown {
  const Arm* arm;
  const Setting* setting;  // null: no run of the arm has finished
  AcceptanceSummary acceptance;
};
using Column = CsvColumn<Shown>;
using Columns = std::vector<Column>;

// A column of the setting; empty where there is none.
template <typename Get>
Column of_setting(std::string name, Get get) {
  return {std::move(name),
          [get](const Shown& row) -> std::optional<std::decay_t<decltype(get(*row.setting))>> {
            if (row.setting == nullptr) return std::nullopt;
            return get(*row.setting);
          }};
}

// A number of runs, of all settings where none is shown: an arm that never finished has some too.
template <typename Get>
Column counted_runs(std::string name, Get get) {
  return {std::move(name), [get](const Shown& row) {
            if (row.setting != nullptr) return get(*row.setting);
            int64_t sum = 0;
            for (const Setting& setting : row.arm->settings) sum += get(setting);
            return sum;
          }};
}

template <typename Get>
Column of_acceptance(std::string name, Get get) {
  return {std::move(name), [get](const Shown& row) -> std::optional<double> {
            if (row.setting == nullptr) return std::nullopt;
            return get(row.acceptance);
          }};
}

// NAME, NAME_sd, NAME_low, NAME_high.
template <typename Get>
void add_estimate(const std::string& name, Get sample, Columns& columns) {
  const auto add = [&](const char* suffix, double Estimate::*value) {
    columns.push_back(of_setting(name + suffix, [sample, value](const Setting& setting) {
      return sample(setting).estimate.*value;
    }));
  };
  add("", &Estimate::mean);
  add("_sd", &Estimate::sd);
  add("_low", &Estimate::low);
  add("_high", &Estimate::high);
}

void add_measures(const Summary& summary, Columns& columns) {
  for (const MeasureKind& kind : measure_kinds()) {
    const Measure measure = kind.measure;
    add_estimate(
        kind.key, [=](const Setting& s) -> const Sample& { return at_end(s, measure); }, columns);
    add_estimate(
        kind.key + "_at_equal_seconds",
        [=](const Setting& s) -> const Sample& { return at_equal_seconds(s, measure); }, columns);
  }
  columns.push_back({"equal_seconds", [&summary](const Shown&) { return summary.equal_seconds; }});
}

void add_prompts(Columns& columns) {
  using A = AcceptanceSummary;
  const std::pair<std::string, PromptMean A::*> means[] = {{"pooled", &A::pooled},
                                                           {"per_response", &A::per_response}};
  for (const auto& [name, mean] : means) {
    const auto of_mean = [mean = mean](double PromptMean::*value) {
      return [=](const A& acceptance) { return acceptance.*mean.*value; };
    };
    columns.push_back(of_acceptance(name, of_mean(&PromptMean::value)));
    columns.push_back(of_acceptance(name + "_low", of_mean(&PromptMean::low)));
    columns.push_back(of_acceptance(name + "_high", of_mean(&PromptMean::high)));
  }
  columns.push_back(of_acceptance("product_of_marginals", [](const A& a) { return a.product; }));
  columns.push_back(of_acceptance("marginal_accuracy", [](const A& a) { return a.marginal; }));
  columns.push_back({"prompts", [](const Shown& row) -> std::optional<int64_t> {
                       if (row.setting == nullptr) return std::nullopt;
                       return row.acceptance.pooled.prompts;
                     }});
}

// Time to the target, and how many times less than the reference.
void add_target(const Summary& summary, Columns& columns) {
  columns.push_back(
      counted_runs("target_reached", [](const Setting& s) { return s.target.reached; }));
  columns.push_back(counted_runs("target_runs", [](const Setting& s) { return s.target.of; }));
  const Setting* reference =
      summary.arms.empty() ? nullptr : summary.arms[summary.reference].chosen();
  const std::pair<std::string, Clock> clocks[] = {
      {"steps", Clock::kSteps}, {"tokens", Clock::kTokens}, {"seconds", Clock::kSeconds}};
  for (const auto& [name, clock] : clocks) {
    columns.push_back(of_setting(name + "_to_target", [clock = clock](const Setting& setting) {
      return setting.target.median(clock);
    }));
    const auto add = [&, clock = clock](const std::string& column, auto Speedup::*value) {
      using Value = std::decay_t<decltype(std::declval<Speedup>().*value)>;
      columns.push_back({column, [=](const Shown& row) -> std::optional<Value> {
                           if (row.setting == nullptr || reference == nullptr) return std::nullopt;
                           return speedup_at_target(*reference, *row.setting, clock).*value;
                         }});
    };
    add(name + "_speedup", &Speedup::ratio);
    add(name + "_speedup_seeds", &Speedup::seeds);
    add(name + "_speedup_reached", &Speedup::reached);
    add(name + "_speedup_mean", &Speedup::mean);
    add(name + "_speedup_low", &Speedup::low);
    add(name + "_speedup_high", &Speedup::high);
  }
}

void add_seconds(Columns& columns) {
  const std::pair<std::string, Sample Setting::*> samples[] = {
      {"train_seconds", &Setting::train_seconds},
      {"steps_per_second", &Setting::steps_per_second},
      {"seconds_per_step", &Setting::seconds_per_step},
      {"data_seconds_per_step", &Setting::data_per_step},
      {"model_seconds_per_step", &Setting::model_per_step},
      {"optimizer_seconds_per_step", &Setting::optimizer_per_step}};
  for (const auto& [name, sample] : samples) {
    add_estimate(
        name, [sample = sample](const Setting& s) -> const Sample& { return s.*sample; }, columns);
  }
}

// Of the steps that were timed alone; empty where they were not.
void add_timing(Columns& columns) {
  const auto add = [&](std::string name, auto get) {
    using Value = std::decay_t<decltype(get(std::declval<Timing>()))>;
    columns.push_back({std::move(name), [get](const Shown& row) -> std::optional<Value> {
                         if (row.setting == nullptr) return std::nullopt;
                         const std::optional<Timing>& timing = row.setting->finished.front()->probe;
                         if (!timing) return std::nullopt;
                         return get(*timing);
                       }});
  };
  const auto add_step = [&](const std::string& part, auto get) {
    add("timed_" + part, [get](const Timing& timing) { return get(step_time(timing)); });
  };
  add_step("seconds_per_step", [](const StepTime& time) { return time.seconds(); });
  add_step("seconds_per_step_quartile_1", [](const StepTime& time) { return time.low; });
  add_step("seconds_per_step_quartile_3", [](const StepTime& time) { return time.high; });
  add_step("samples", [](const StepTime& time) { return time.n; });
  add("timed_steps_per_sample", [](const Timing& timing) { return timing.period; });
  const std::pair<const char*, double StepTimes::*> parts[] = {
      {"data", &StepTimes::data},
      {"forward", &StepTimes::forward},
      {"backward", &StepTimes::backward},
      {"orthogonalization", &StepTimes::orthogonalization},
      {"rest", &StepTimes::rest}};
  for (const auto& [part, seconds] : parts) {
    add_step(std::string(part) + "_seconds",
             [seconds = seconds](const StepTime& time) { return time.parts.*seconds; });
  }
  const std::pair<const char*, int64_t Timing::*> memory[] = {
      {"weight_bytes", &Timing::weight_bytes},
      {"gradient_bytes", &Timing::gradient_bytes},
      {"optimizer_bytes", &Timing::optimizer_bytes},
      {"timed_peak_memory_bytes", &Timing::peak_memory_bytes}};
  for (const auto& [name, bytes] : memory)
    add(name, [bytes = bytes](const Timing& timing) { return timing.*bytes; });
}

}  // namespace

std::string arms_csv(const Study& study) {
  const Summary& summary = study.summary;
  Columns columns = {
      {"arm", [](const Shown& row) { return row.arm->name; }},
      {"reference", [&](const Shown& row) { return row.arm == &summary.arms[summary.reference]; }},
      {"optimizer", [](const Shown& row) { return example_run(*row.arm).optimizer.kind; }},
      of_setting("setting", [](const Setting& s) { return s.label; }),
      of_setting("learning_rate", [](const Setting& s) { return s.optimizer.learning_rate(); }),
      counted_runs("n", [](const Setting& s) { return static_cast<int64_t>(s.finished.size()); }),
      counted_runs("runs", [](const Setting& s) { return static_cast<int64_t>(s.runs.size()); }),
      counted_runs("diverged", [](const Setting& s) { return s.diverged; }),
      of_setting("steps",
                 [](const Setting& s) { return s.finished.front()->config.training.steps; }),
  };
  add_measures(summary, columns);
  add_prompts(columns);
  add_target(summary, columns);
  add_seconds(columns);
  add_timing(columns);
  columns.push_back(of_setting("optimizer_options",
                               [](const Setting& s) { return canonical(to_json(s.optimizer)); }));
  std::vector<Shown> rows;
  for (const Arm& arm : summary.arms) {
    rows.push_back({&arm, arm.chosen(), {}});
    if (arm.chosen() != nullptr) rows.back().acceptance = acceptance_of(*arm.chosen());
  }
  return csv(columns, rows);
}

}  // namespace draftlab

#include "reports/tables/tables.h"
#include "reports/text/csv.h"

namespace draftlab {
namespace {

// One line: a setting that was tried of an arm.
struct Trial {
  const Arm* arm;
  const Setting* setting;
  bool chosen;
};
using Column = CsvColumn<Trial>;

// Empty where no run has finished.
Column of_deciding(std::string name, Measure measure, double Estimate::*value) {
  return {std::move(name), [=](const Trial& trial) -> std::optional<double> {
            if (trial.setting->finished.empty()) return std::nullopt;
            return deciding(*trial.setting, measure).estimate.*value;
          }};
}

}  // namespace

std::string trials_csv(const Summary& summary) {
  const Measure measure = summary.chosen_by;
  const std::string key = kind_of(measure).key;
  const std::string split = summary.chosen_on == Split::kTuning ? "tuning" : "held_out";
  const std::vector<Column> columns = {
      {"arm", [](const Trial& t) { return t.arm->name; }},
      {"setting", [](const Trial& t) { return t.setting->label; }},
      {"learning_rate", [](const Trial& t) { return t.setting->optimizer.learning_rate(); }},
      {"phase", [](const Trial& t) { return t.setting->runs.front()->phase; }},
      {"measure", [&](const Trial&) { return key; }},
      {"split", [&](const Trial&) { return split; }},
      of_deciding("value", measure, &Estimate::mean),
      of_deciding("sd", measure, &Estimate::sd),
      {"n", [](const Trial& t) { return static_cast<int64_t>(t.setting->finished.size()); }},
      {"runs", [](const Trial& t) { return static_cast<int64_t>(t.setting->runs.size()); }},
      {"diverged", [](const Trial& t) { return t.setting->diverged; }},
      {"chosen", &Trial::chosen},
      {"optimizer_options",
       [](const Trial& t) { return canonical(to_json(t.setting->optimizer)); }},
  };
  std::vector<Trial> trials;
  for (const Arm& arm : summary.arms) {
    for (const Setting& setting : arm.tried())
      trials.push_back({&arm, &setting, &setting == arm.chosen_trial()});
  }
  return csv(columns, trials);
}

}  // namespace draftlab

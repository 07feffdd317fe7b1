#include "reports/checks/fairness.h"
#include "reports/study/comparison.h"
#include "reports/tables/tables.h"
#include "reports/text/csv.h"
#include "reports/text/words.h"

namespace draftlab {
namespace {

// One line: a setting that was tried of an arm.
struct Trial {
  const Arm* arm;
  const Setting* setting;
  bool chosen;
};
using TrialColumn = CsvColumn<Trial>;

// Empty where no run has finished.
TrialColumn of_deciding(std::string name, Measure measure, double Estimate::*value) {
  return {std::move(name), [=](const Trial& trial) -> std::optional<double> {
            if (trial.setting->finished.empty()) return std::nullopt;
            return deciding(*trial.setting, measure).estimate.*value;
          }};
}

// One line: what to expect from the best of k settings of an arm, and what they cost.
struct BestOf {
  const Arm* arm;
  int64_t k;
  double value, seconds;
};

// One line.
struct Pair {
  Comparison comparison;
  Measure measure;
  View view;
};
using PairColumn = CsvColumn<Pair>;

PairColumn of_difference(std::string name, double Estimate::*value) {
  return {std::move(name), [value](const Pair& pair) { return pair.comparison.difference.*value; }};
}

// One line: a check and one of its findings.
struct Verdict {
  const CheckKind* kind;
  const FairnessFinding* finding;  // null: it has none
};
using VerdictColumn = CsvColumn<Verdict>;

std::vector<Verdict> verdicts_of(const std::vector<FairnessFinding>& findings) {
  std::vector<Verdict> verdicts;
  for (const CheckKind& kind : check_kinds()) {
    const size_t before = verdicts.size();
    for (const FairnessFinding& finding : findings) {
      if (finding.id == kind.id) verdicts.push_back({&kind, &finding});
    }
    if (verdicts.size() == before) verdicts.push_back({&kind, nullptr});
  }
  return verdicts;
}

std::string verdict_name(const Verdict& verdict) {
  if (verdict.kind->run == nullptr) return "cannot happen";
  return verdict.finding == nullptr ? "passes" : severity_name(verdict.finding->severity);
}

}  // namespace

std::string trials_csv(const Summary& summary) {
  const Measure measure = summary.chosen_by;
  const std::string key = kind_of(measure).key;
  const std::string split = summary.chosen_on == Split::kTuning ? "tuning" : "held_out";
  const std::vector<TrialColumn> columns = {
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

std::string best_of_csv(const Summary& summary) {
  const Measure measure = summary.chosen_by;
  std::vector<BestOf> rows;
  for (const Arm& arm : summary.arms) {
    const std::vector<double> values = trial_values(arm, measure);
    const double seconds = trial_seconds(arm) / static_cast<double>(values.size());
    for (const double value : expected_best(values, kind_of(measure).lower_is_better)) {
      const auto k =
          static_cast<int64_t>(rows.empty() || rows.back().arm != &arm ? 1 : rows.back().k + 1);
      rows.push_back({&arm, k, value, seconds * static_cast<double>(k)});
    }
  }
  const std::vector<CsvColumn<BestOf>> columns = {
      {"arm", [](const BestOf& row) { return row.arm->name; }},
      {"k", &BestOf::k},
      {"measure", [&](const BestOf&) { return kind_of(measure).key; }},
      {"expected_best", &BestOf::value},
      {"train_seconds", &BestOf::seconds},
  };
  return csv(columns, rows);
}

std::string pairs_csv(const Study& study) {
  std::vector<Pair> pairs;
  for (Measure measure : {Measure::kAcceptanceLength, Measure::kLoss}) {
    for (View view : {View::kEqualSteps, View::kEqualSeconds}) {
      const std::vector<Comparison> all = comparisons(study, measure, view);
      for (const Comparison& comparison : tabulated(study, all, measure, view))
        pairs.push_back({comparison, measure, view});
    }
  }
  const std::vector<PairColumn> columns = {
      {"measure", [](const Pair& pair) { return kind_of(pair.measure).key; }},
      {"at",
       [](const Pair& pair) {
         return pair.view == View::kEqualSteps ? "equal steps" : "equal seconds";
       }},
      {"a", [](const Pair& pair) { return pair.comparison.a->name; }},
      {"b", [](const Pair& pair) { return pair.comparison.b->name; }},
      {"n", [](const Pair& pair) { return pair.comparison.difference.n; }},
      of_difference("difference", &Estimate::mean),
      of_difference("sd", &Estimate::sd),
      of_difference("low", &Estimate::low),
      of_difference("high", &Estimate::high),
      {"t", [](const Pair& pair) { return t_value(pair.comparison.difference); }},
      {"p", [](const Pair& pair) { return pair.comparison.p; }},
      {"adjusted_p", [](const Pair& pair) { return pair.comparison.adjusted_p; }},
      {"comparisons", [](const Pair& pair) { return pair.comparison.pairs; }},
      {"detectable_difference", [](const Pair& pair) { return pair.comparison.detectable(); }},
      {"claimed", [](const Pair& pair) { return pair.comparison.claimed(); }},
      {"refused_by",
       [](const Pair& pair) {
         const FairnessFinding* refusal = pair.comparison.refusal;
         return refusal == nullptr ? std::string() : refusal->id;
       }},
      {"verdict", [](const Pair& pair) { return verdict(pair.comparison, pair.measure); }},
      {"asked", [](const Pair& pair) { return pair.comparison.asked; }},
      {"claim_low", [](const Pair& pair) { return pair.comparison.interval.low; }},
      {"claim_high", [](const Pair& pair) { return pair.comparison.interval.high; }},
      {"same_p", [](const Pair& pair) { return pair.comparison.same_p; }},
  };
  return csv(columns, pairs);
}

std::string checks_csv(const Study& study) {
  const std::vector<VerdictColumn> columns = {
      {"id", [](const Verdict& v) { return v.kind->id; }},
      {"severity", [](const Verdict& v) { return severity_name(v.kind->severity); }},
      {"question", [](const Verdict& v) { return v.kind->question; }},
      {"verdict", verdict_name},
      {"by_time_only",
       [](const Verdict& v) -> std::optional<bool> {
         if (v.finding == nullptr) return std::nullopt;
         return v.finding->by_time_only;
       }},
      {"arms",
       [](const Verdict& v) { return v.finding == nullptr ? "" : listed(v.finding->arms); }},
      {"sentence",
       [](const Verdict& v) {
         return v.finding == nullptr ? v.kind->excluded : v.finding->sentence;
       }},
  };
  return csv(columns, verdicts_of(study.findings));
}

}  // namespace draftlab

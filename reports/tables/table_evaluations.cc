#include <algorithm>

#include "reports/tables/tables.h"
#include "reports/text/csv.h"

namespace draftlab {
namespace {

// One line; either row may be missing.
struct Evaluation {
  const Result* run;
  const EvaluationRow* held_out;
  const EvaluationRow* tuning;
  const EvaluationRow& any() const { return held_out != nullptr ? *held_out : *tuning; }
};
using Column = CsvColumn<Evaluation>;

// Both splits by rising step.
std::vector<Evaluation> evaluations_of(const std::vector<Result>& results) {
  std::vector<Evaluation> evaluations;
  for (const Result& run : results) {
    size_t tuning = 0;
    for (const EvaluationRow& row : run.held_out) {
      while (tuning < run.tuning.size() && run.tuning[tuning].step < row.step) {
        evaluations.push_back({&run, nullptr, &run.tuning[tuning++]});
      }
      const bool both = tuning < run.tuning.size() && run.tuning[tuning].step == row.step;
      evaluations.push_back({&run, &row, both ? &run.tuning[tuning++] : nullptr});
    }
    while (tuning < run.tuning.size()) {
      evaluations.push_back({&run, nullptr, &run.tuning[tuning++]});
    }
  }
  return evaluations;
}

// A column of one split's row.
template <typename Value>
Column of_row(std::string name, const EvaluationRow* Evaluation::*which,
              Value EvaluationRow::*value) {
  return {std::move(name), [which, value](const Evaluation& e) -> std::optional<Value> {
            if (e.*which == nullptr) return std::nullopt;
            return (e.*which)->*value;
          }};
}

Column of_slot(std::string name, std::vector<double> EvaluationRow::*shares, size_t k) {
  return {std::move(name), [shares, k](const Evaluation& e) -> std::optional<double> {
            if (e.held_out == nullptr || k >= (e.held_out->*shares).size()) return std::nullopt;
            return (e.held_out->*shares)[k];
          }};
}

}  // namespace

std::string evaluations_csv(const std::vector<Result>& results) {
  using Row = EvaluationRow;
  const auto val = &Evaluation::held_out;
  const auto tuning = &Evaluation::tuning;
  std::vector<Column> columns = {
      {"run", [](const Evaluation& e) -> const std::string& { return e.run->run; }},
      {"step", [](const Evaluation& e) { return e.any().step; }},
      {"tokens", [](const Evaluation& e) { return e.any().tokens; }},
      {"train_seconds", [](const Evaluation& e) { return e.any().train_seconds; }},
      of_row("val_loss", val, &Row::loss),
      of_row("acceptance_length", val, &Row::acceptance_length),
      of_row("acceptance_length_argmax", val, &Row::acceptance_length_argmax),
  };
  size_t slots = 0;
  for (const Result& run : results) {
    slots = std::max(slots, static_cast<size_t>(run.config.drafter.block_size - 1));
  }
  for (size_t k = 0; k < slots; ++k) {
    columns.push_back(
        of_slot("slot_" + std::to_string(k + 1) + "_accuracy", &Row::slot_accuracy, k));
  }
  for (size_t k = 0; k < slots; ++k) {
    columns.push_back(of_slot("prefix_" + std::to_string(k + 1) + "_share", &Row::prefix_share, k));
  }
  const std::vector<Column> more = {
      of_row("acceptance_length_per_prompt", val, &Row::acceptance_length_per_prompt),
      of_row("blocks", val, &Row::blocks),
      of_row("prompts", val, &Row::prompts),
      of_row("tuning_loss", tuning, &Row::loss),
      of_row("tuning_acceptance_length", tuning, &Row::acceptance_length),
      of_row("tuning_acceptance_length_argmax", tuning, &Row::acceptance_length_argmax),
  };
  columns.insert(columns.end(), more.begin(), more.end());
  return csv(columns, evaluations_of(results));
}

}  // namespace draftlab

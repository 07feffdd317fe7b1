#include "reports/tables/exported_study.h"

#include <algorithm>
#include <map>

#include "base/error.h"
#include "base/file.h"
#include "reports/checks/checked_study.h"
#include "reports/tables/jobs.h"
#include "reports/tables/study_record.h"
#include "reports/tables/tables.h"
#include "reports/text/csv_table.h"

namespace draftlab {
namespace {

namespace fs = std::filesystem;

void read_runs(const CsvTable& table, std::vector<Result>& results) {
  if (table.rows() != results.size())
    throw Error(table.origin(), "has " + std::to_string(table.rows()) + " runs, and study.json " +
                                    std::to_string(results.size()));
  for (size_t row = 0; row < results.size(); ++row) {
    Result& run = results[row];
    const auto at = [&](const char* column) { return table.at(row, column); };
    run.outcome = at("outcome").text;
    run.reason = at("reason").text;
    run.steps = at("steps").integer();
    run.tokens = at("tokens").integer();
    run.train_seconds = at("train_seconds").number();
    run.data_seconds = at("data_seconds").number();
    run.model_seconds = at("model_seconds").number();
    run.optimizer_seconds = at("optimizer_seconds").number();
    run.clipped_share = at("clipped_share").number();
    run.unlabelled_steps = at("unlabelled_steps").integer();
    if (!at("peak_memory_bytes").empty()) run.peak_memory_bytes = at("peak_memory_bytes").integer();
    run.weights_hash = at("weights_hash").text;
    if (!at("alone").empty()) run.alone = at("alone").yes();
    run.seconds_from_probe = at("seconds_from_timing").yes();
    run.steps_to_target = at("steps_to_target").number_if_any();
    run.tokens_to_target = at("tokens_to_target").number_if_any();
    run.seconds_to_target = at("seconds_to_target").number_if_any();
  }
}

using ByName = std::map<std::string, Result*>;

Result& run_at(const CsvTable& table, size_t row, const ByName& runs) {
  const CsvField name = table.at(row, "run");
  const auto found = runs.find(name.text);
  if (found == runs.end()) throw Error(name.where, "there is no run '" + name.text + "'");
  return *found->second;
}

// The row of this step, which study.json has; null for none.
EvaluationRow* row_of(std::vector<EvaluationRow>& rows, int64_t step) {
  const auto found = std::ranges::lower_bound(rows, step, {}, &EvaluationRow::step);
  return found != rows.end() && found->step == step ? &*found : nullptr;
}

std::vector<double> read_slots(const CsvTable& table, size_t row, const std::string& before,
                               const std::string& after) {
  std::vector<double> shares;
  for (size_t k = 1;; ++k) {
    const std::string column = before + std::to_string(k) + after;
    if (!table.has(column) || table.at(row, column).empty()) return shares;
    shares.push_back(table.at(row, column).number());
  }
}

void read_evaluations(const CsvTable& table, const ByName& runs) {
  for (size_t i = 0; i < table.rows(); ++i) {
    Result& run = run_at(table, i, runs);
    const auto at = [&](const char* column) { return table.at(i, column); };
    const int64_t step = at("step").integer();
    EvaluationRow* const held_out = row_of(run.held_out, step);
    EvaluationRow* const tuning = row_of(run.tuning, step);
    for (EvaluationRow* row : {held_out, tuning}) {
      if (row == nullptr) continue;
      row->tokens = at("tokens").integer();
      row->train_seconds = at("train_seconds").number();
    }
    if (held_out != nullptr) {
      held_out->loss = at("val_loss").number();
      held_out->acceptance_length = at("acceptance_length").number();
      held_out->acceptance_length_argmax = at("acceptance_length_argmax").number();
      held_out->acceptance_length_per_prompt = at("acceptance_length_per_prompt").number();
      held_out->blocks = at("blocks").integer();
      held_out->prompts = at("prompts").integer();
      held_out->slot_accuracy = read_slots(table, i, "slot_", "_accuracy");
      held_out->prefix_share = read_slots(table, i, "prefix_", "_share");
      held_out->expected_acceptance = read_slots(table, i, "slot_", "_expected_acceptance");
      if (!held_out->expected_acceptance.empty())
        held_out->expected_acceptance_length = at("expected_acceptance_length").number();
      held_out->top_2_recall = read_slots(table, i, "slot_", "_top_2_recall");
      held_out->top_4_recall = read_slots(table, i, "slot_", "_top_4_recall");
      held_out->top_8_recall = read_slots(table, i, "slot_", "_top_8_recall");
      if (!held_out->top_8_recall.empty()) held_out->top_8_length = at("top_8_length").number();
      for (const int64_t nodes : tree_budgets()) {
        const std::string column = "tree_" + std::to_string(nodes) + "_length";
        if (table.has(column) && !table.at(i, column).empty())
          held_out->tree_lengths.push_back(table.at(i, column).number());
      }
    }
    if (tuning != nullptr) {
      tuning->loss = at("tuning_loss").number();
      tuning->acceptance_length = at("tuning_acceptance_length").number();
      tuning->acceptance_length_argmax = at("tuning_acceptance_length_argmax").number();
    }
  }
}

// Of weights or of momentum; nothing where the row has none.
void read_spectrum(const CsvTable& table, size_t row, const std::string& of,
                   std::vector<double>& spectrum, double& stable_rank) {
  for (const char* column : kSpectrumColumns) {
    const std::string name = of + "_sigma_" + column;
    if (!table.has(name) || table.at(row, name).empty()) return;
    spectrum.push_back(table.at(row, name).number());
  }
  stable_rank = table.at(row, of + "_stable_rank").number();
}

void read_updates(const CsvTable& table, const ByName& runs) {
  for (size_t row = 0; row < table.rows(); ++row) {
    const auto at = [&](const char* column) { return table.at(row, column); };
    UpdateRow update;
    update.step = at("step").integer();
    update.kind = at("kind").text;
    update.rule = at("rule").text;
    update.update_rms = at("update_rms").number();
    update.weight_rms = at("weight_rms").number();
    update.alignment = at("alignment").number();
    update.deviation = at("deviation").number();
    read_spectrum(table, row, "weight", update.weight_spectrum, update.weight_stable_rank);
    read_spectrum(table, row, "momentum", update.momentum_spectrum, update.momentum_stable_rank);
    run_at(table, row, runs).updates.push_back(std::move(update));
  }
}

std::vector<WorkerEvent> read_jobs(const CsvTable& table) {
  std::vector<WorkerEvent> events;
  for (size_t row = 0; row < table.rows(); ++row) {
    const auto at = [&](const char* column) { return table.at(row, column); };
    events.push_back({at("segment").text, at("start").number(),
                      at("end").number_if_any().value_or(0), at("outcome").text,
                      at("threads").integer()});
  }
  return events;
}

}  // namespace

bool holds_exported_study(const fs::path& folder) {
  return fs::exists(folder / "study.json") && !fs::exists(RunFolder(folder).plan());
}

Study read_exported_study(const fs::path& folder) {
  const auto table = [&](const char* name) { return read_csv_table(folder / name); };
  const fs::path record = folder / "study.json";
  Study study = read_study_record(read_json(record), record.string());
  ByName by_name;
  for (Result& run : study.results) by_name[run.run] = &run;
  const CsvTable runs = table("runs.csv"), evaluations = table("evaluations.csv"),
                 updates = table("updates.csv"), attempts = table("jobs.csv");
  read_runs(runs, study.results);
  read_evaluations(evaluations, by_name);
  read_updates(updates, by_name);
  study.events = read_jobs(attempts);
  // The curves first: the ends of runs follow from them.
  require_equal(evaluations, CsvTable(evaluations_csv(study.results), "evaluations.csv"));
  require_equal(updates, CsvTable(updates_csv(study.results), "updates.csv"));
  require_equal(runs, CsvTable(runs_csv(study.results), "runs.csv"));
  require_equal(attempts, CsvTable(jobs_csv(jobs(study)), "jobs.csv"));
  add_summary(study);
  return checked(std::move(study));
}

void require_result_or_exported_study(const fs::path& folder) {
  if (holds_exported_study(folder)) return;
  if (fs::exists(folder / "runs.csv") && !fs::exists(RunFolder(folder).plan()))
    throw Error(folder.string(),
                "holds the tables of a report, but no study.json, without which they are not the "
                "whole study: report again from the result folder, and take study.json along");
}

Study result_or_exported_study(const fs::path& folder) {
  require_result_or_exported_study(folder);
  return holds_exported_study(folder) ? read_exported_study(folder)
                                      : checked_study(RunFolder(folder));
}

}  // namespace draftlab

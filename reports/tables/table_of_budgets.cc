#include <cmath>
#include <optional>

#include "reports/study/budget_study.h"
#include "reports/tables/tables.h"
#include "reports/text/csv.h"

namespace draftlab {
namespace {

struct Row {
  const BudgetKind* kind;
  const BudgetEnd* end;
};
using Column = CsvColumn<Row>;

void add(const std::string& name, Estimate BudgetEnd::*estimate, std::vector<Column>& columns) {
  const std::pair<const char*, double Estimate::*> parts[] = {
      {"", &Estimate::mean}, {"_low", &Estimate::low}, {"_high", &Estimate::high}};
  for (const auto& [suffix, part] : parts) {
    columns.push_back({name + suffix, [estimate, part = part](const Row& row) {
                         return row.end->*estimate.*part;
                       }});
  }
}

}  // namespace

std::string budgets_csv(const Study& study) {
  const BudgetStudy budgets = budget_study(study);
  std::vector<Row> rows;
  for (const BudgetKind& kind : budgets.kinds)
    for (const BudgetEnd& end : kind.ends) rows.push_back({&kind, &end});
  if (rows.empty()) return "";
  std::vector<Column> columns = {
      {"optimizer", [](const Row& row) { return row.end->arm->chosen()->optimizer.kind; }},
      {"arm", [](const Row& row) { return row.end->arm->name; }},
      {"steps", [](const Row& row) { return row.end->steps; }},
      {"tokens", [](const Row& row) { return row.end->tokens; }},
      {"sequences", [](const Row& row) { return row.end->sequences; }},
      {"epochs", [](const Row& row) { return row.end->epochs; }},
      {"n", [](const Row& row) { return row.end->loss.n; }}};
  add("train_seconds", &BudgetEnd::seconds, columns);
  add("val_loss", &BudgetEnd::loss, columns);
  add("acceptance_length", &BudgetEnd::length, columns);
  columns.push_back({"data_ratio", [](const Row& row) { return row.end->data.ratio; }});
  columns.push_back({"data_ratio_low", [](const Row& row) { return row.end->data.low; }});
  columns.push_back({"data_ratio_high", [](const Row& row) { return row.end->data.high; }});
  columns.push_back({"on_frontier", [](const Row& row) { return row.end->on_frontier; }});
  return csv(columns, rows);
}

}  // namespace draftlab

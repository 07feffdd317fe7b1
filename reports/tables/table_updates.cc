#include "reports/tables/tables.h"
#include "reports/text/csv.h"

namespace draftlab {
namespace {

// One line.
struct Update {
  const Result* run;
  const UpdateRow* row;
  const GradientRow* gradients;  // null: no evaluation ended at this step
};
using Column = CsvColumn<Update>;

std::vector<Update> updates_of(const std::vector<Result>& results) {
  std::vector<Update> updates;
  for (const Result& run : results) {
    auto steps = run.gradients.begin();  // both are in step order
    for (const UpdateRow& row : run.updates) {
      while (steps != run.gradients.end() && steps->step < row.step) ++steps;
      const bool known = steps != run.gradients.end() && steps->step == row.step;
      updates.push_back({&run, &row, known ? &*steps : nullptr});
    }
  }
  return updates;
}

Column of_update(std::string name, double UpdateRow::*value) {
  return {std::move(name), [value](const Update& u) { return u.row->*value; }};
}

Column of_gradients(std::string name, double GradientRow::*value) {
  return {std::move(name), [value](const Update& u) -> std::optional<double> {
            if (u.gradients == nullptr) return std::nullopt;
            return u.gradients->*value;
          }};
}

}  // namespace

std::string updates_csv(const std::vector<Result>& results) {
  const std::vector<Column> columns = {
      {"run", [](const Update& u) -> const std::string& { return u.run->run; }},
      {"arm", [](const Update& u) -> const std::string& { return u.run->arm; }},
      {"seed", [](const Update& u) { return seed_text(u.run->seeds); }},
      {"step", [](const Update& u) { return u.row->step; }},
      {"kind", [](const Update& u) -> const std::string& { return u.row->kind; }},
      {"rule", [](const Update& u) -> const std::string& { return u.row->rule; }},
      of_update("update_rms", &UpdateRow::update_rms),
      of_update("weight_rms", &UpdateRow::weight_rms),
      {"ratio", [](const Update& u) { return u.row->ratio(); }},
      of_update("alignment", &UpdateRow::alignment),
      of_update("deviation", &UpdateRow::deviation),
      of_gradients("gradient_norm", &GradientRow::norm),
      of_gradients("clipped_share", &GradientRow::clipped_share),
      of_gradients("schedule", &GradientRow::schedule),
  };
  return csv(columns, updates_of(results));
}

}  // namespace draftlab

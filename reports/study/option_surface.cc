#include "reports/study/option_surface.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace draftlab {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

// A NaN is never best.
double best_of(const std::vector<double>& values, Measure measure) {
  double best = kNaN;
  for (const double value : values)
    if (std::isnan(best) || better(measure, value, best)) best = std::isnan(value) ? best : value;
  return best;
}

double spread(std::vector<double> values) {
  std::erase_if(values, [](double value) { return std::isnan(value); });
  if (values.size() < 2) return kNaN;
  const auto [low, high] = std::ranges::minmax(values);
  return high - low;
}

}  // namespace

std::optional<OptionSurface> option_surface(const Arm& arm, Measure measure) {
  std::vector<const SweptOption*> options;
  for (const SweptOption& option : arm.swept)
    if (option.values.size() > 1) options.push_back(&option);
  if (options.size() < 2) return std::nullopt;
  std::ranges::stable_sort(options, [](const SweptOption* a, const SweptOption* b) {
    const bool rate_a = a->key == "learning_rate", rate_b = b->key == "learning_rate";
    return rate_a != rate_b ? rate_a : a->values.size() > b->values.size();
  });
  OptionSurface surface{options[1]->key, options[0]->key, options[1]->values, options[0]->values};
  for (const Json& row : surface.rows) {
    std::vector<double> values;
    for (const Json& column : surface.columns) {
      std::vector<double> here;
      for (const Setting& setting : arm.tried()) {
        const Json* of_row = setting.optimizer.find(surface.row_key);
        const Json* of_column = setting.optimizer.find(surface.column_key);
        if (of_row == nullptr || of_column == nullptr) continue;
        if (*of_row == row && *of_column == column)
          here.push_back(deciding(setting, measure).estimate.mean);
      }
      values.push_back(best_of(here, measure));
    }
    surface.values.push_back(std::move(values));
  }
  int64_t filled = 0;
  for (const std::vector<double>& row : surface.values)
    filled += std::ranges::count_if(row, [](double value) { return !std::isnan(value); });
  if (2 * filled < static_cast<int64_t>(surface.rows.size() * surface.columns.size()))
    return std::nullopt;
  std::vector<double> best_rows, best_columns;
  for (const std::vector<double>& row : surface.values) best_rows.push_back(best_of(row, measure));
  for (size_t i = 0; i < surface.columns.size(); ++i) {
    std::vector<double> column;
    for (const std::vector<double>& row : surface.values) column.push_back(row[i]);
    best_columns.push_back(best_of(column, measure));
  }
  surface.row_spread = spread(best_rows);
  surface.column_spread = spread(best_columns);
  return surface;
}

}  // namespace draftlab

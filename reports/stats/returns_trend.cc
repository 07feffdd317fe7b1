#include "reports/stats/returns_trend.h"

#include <algorithm>
#include <boost/math/distributions/fisher_f.hpp>
#include <cmath>

#include "base/number_text.h"

namespace draftlab {
namespace {

constexpr double kLevel = 0.05;
constexpr size_t kFewest = 3;

double law_at(const PowerLaw& law, double tokens) {
  return law.scale * std::pow(tokens / law.unit, -law.exponent) + law.floor;
}

double lack_of_fit(const PowerLaw& law, const std::vector<Budget>& budgets) {
  double between = 0, within = 0;
  size_t points = 0;
  for (const Budget& budget : budgets) {
    const double mean = estimate(budget.current).mean;
    const double rest = mean - law_at(law, budget.tokens);
    between += static_cast<double>(budget.current.size()) * rest * rest;
    for (const double value : budget.current) within += (value - mean) * (value - mean);
    points += budget.current.size();
  }
  const size_t m = budgets.size();
  if (m <= 3 || points <= m) return NAN;
  const auto freedom = static_cast<double>(m - 3), rest = static_cast<double>(points - m);
  if (within == 0) return between > 0 ? 0 : 1;
  const boost::math::fisher_f distribution(freedom, rest);
  return boost::math::cdf(
      boost::math::complement(distribution, (between / freedom) / (within / rest)));
}

}  // namespace

RatioPrediction ReturnsTrend::at(double tokens) const {
  const auto m = static_cast<double>(points.size());
  const double x = std::log(tokens) - mean_x_;
  const double y = mean_y_ + slope * x;
  const double half = student_t_quantile(0.975, static_cast<int64_t>(points.size()) - 2) *
                      deviation_ * std::sqrt(1 + 1 / m + x * x / sxx_);
  return {std::exp(y), std::exp(y - half), std::exp(y + half)};
}

ReturnsTrend returns_trend(std::vector<Budget> budgets) {
  std::ranges::sort(budgets, {}, &Budget::tokens);
  ReturnsTrend trend;
  if (budgets.size() < kFewest) {
    trend.refusal = "there are ends of " + std::to_string(budgets.size()) +
                    " annealed budgets with both optimizers, and a trend needs 3";
    return trend;
  }
  std::vector<EndPoint> ends;
  for (const Budget& budget : budgets) {
    for (const double value : budget.current) ends.push_back({budget.tokens, value});
  }
  trend.law = fit_power_law(ends);
  trend.refusal = trend.law.refusal;
  if (!trend.refusal.empty()) return trend;
  bool finite = true;
  for (const Budget& budget : budgets) {
    const Estimate candidate = estimate(budget.candidate);
    const double error = candidate.sd / std::sqrt(static_cast<double>(candidate.n));
    const DataEfficiency efficiency =
        data_efficiency(trend.law, budget.tokens, candidate.mean, std::isnan(error) ? 0 : error);
    finite &= std::isfinite(efficiency.ratio) && efficiency.ratio > 0;
    trend.points.push_back({budget.tokens, budget.epochs, efficiency});
  }
  trend.lack_of_fit_p = lack_of_fit(trend.law, budgets);
  if (trend.lack_of_fit_p < kLevel) {
    trend.refusal =
        "the ends lie further from the best power law than the scatter of seeds "
        "explains (p " +
        (trend.lack_of_fit_p < 0.001 ? "below 0.001" : significant(trend.lack_of_fit_p, 2)) + ")";
    return trend;
  }
  if (!finite) {
    trend.refusal =
        "at some budget the candidate is at or below the floor of the power law, so "
        "that no amount of data equals it";
    return trend;
  }
  const auto m = static_cast<double>(trend.points.size());
  for (const BudgetEfficiency& point : trend.points) {
    trend.mean_x_ += std::log(point.tokens) / m;
    trend.mean_y_ += std::log(point.efficiency.ratio) / m;
  }
  double sxy = 0, rest = 0;
  for (const BudgetEfficiency& point : trend.points) {
    const double x = std::log(point.tokens) - trend.mean_x_;
    trend.sxx_ += x * x;
    sxy += x * (std::log(point.efficiency.ratio) - trend.mean_y_);
  }
  trend.slope = sxy / trend.sxx_;
  for (const BudgetEfficiency& point : trend.points) {
    const double y = std::log(point.efficiency.ratio) - trend.mean_y_ -
                     trend.slope * (std::log(point.tokens) - trend.mean_x_);
    rest += y * y;
  }
  trend.deviation_ = std::sqrt(rest / (m - 2));
  const double half = student_t_quantile(0.975, static_cast<int64_t>(trend.points.size()) - 2) *
                      trend.deviation_ / std::sqrt(trend.sxx_);
  trend.slope_low = trend.slope - half;
  trend.slope_high = trend.slope + half;
  return trend;
}

}  // namespace draftlab

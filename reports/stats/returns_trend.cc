#include "reports/stats/returns_trend.h"

#include <algorithm>
#include <boost/math/distributions/fisher_f.hpp>
#include <cmath>
#include <functional>

#include "base/number_text.h"

namespace draftlab {
namespace {

constexpr double kLevel = 0.05;
constexpr size_t kFewest = 3;

double law_at(const PowerLaw& law, double tokens) {
  return law.scale * std::pow(tokens / law.unit, -law.exponent) + law.floor;
}

double line_at(const LogLine& line, double tokens) {
  return line.intercept + line.slope * std::log(tokens / line.unit);
}

// Of what predicts the end at so many tokens and has so many parameters.
double lack_of_fit(const std::function<double(double)>& predicted, size_t parameters,
                   const std::vector<Budget>& budgets) {
  double between = 0, within = 0;
  size_t points = 0;
  for (const Budget& budget : budgets) {
    const double mean = estimate(budget.current).mean;
    const double rest = mean - predicted(budget.tokens);
    between += static_cast<double>(budget.current.size()) * rest * rest;
    for (const double value : budget.current) within += (value - mean) * (value - mean);
    points += budget.current.size();
  }
  const size_t m = budgets.size();
  if (m <= parameters || points <= m) return NAN;
  const auto freedom = static_cast<double>(m - parameters), rest = static_cast<double>(points - m);
  if (within == 0) return between > 0 ? 0 : 1;
  const boost::math::fisher_f distribution(freedom, rest);
  return boost::math::cdf(
      boost::math::complement(distribution, (between / freedom) / (within / rest)));
}

template <typename Law>
std::vector<BudgetEfficiency> efficiencies(const std::vector<Budget>& budgets, const Law& law) {
  std::vector<BudgetEfficiency> points;
  for (const Budget& budget : budgets) {
    const Estimate candidate = estimate(budget.candidate);
    const double error = candidate.sd / std::sqrt(static_cast<double>(candidate.n));
    points.push_back(
        {budget.tokens, budget.epochs,
         data_efficiency(law, budget.tokens, candidate.mean, std::isnan(error) ? 0 : error)});
  }
  return points;
}

bool all_finite(const std::vector<BudgetEfficiency>& points) {
  return std::ranges::all_of(points, [](const BudgetEfficiency& point) {
    return std::isfinite(point.efficiency.ratio) && point.efficiency.ratio > 0;
  });
}

}  // namespace

RatioPrediction ReturnsTrend::Line::at(double tokens) const {
  const double x = std::log(tokens) - mean_x;
  const double y = mean_y + slope * x;
  const double half = student_t_quantile(0.975, static_cast<int64_t>(m) - 2) * deviation *
                      std::sqrt(1 + 1 / static_cast<double>(m) + x * x / sxx);
  return {std::exp(y), std::exp(y - half), std::exp(y + half)};
}

RatioPrediction ReturnsTrend::at(double tokens) const {
  RatioPrediction all = line_.at(tokens);
  for (const Line& line : others_) {
    const RatioPrediction one = line.at(tokens);
    all.low = std::min(all.low, one.low);
    all.high = std::max(all.high, one.high);
  }
  return all;
}

ReturnsTrend::Line ReturnsTrend::line_of(const std::vector<BudgetEfficiency>& points) {
  Line line = {};
  line.m = points.size();
  const auto m = static_cast<double>(line.m);
  for (const BudgetEfficiency& point : points) {
    line.mean_x += std::log(point.tokens) / m;
    line.mean_y += std::log(point.efficiency.ratio) / m;
  }
  double sxy = 0, rest = 0;
  for (const BudgetEfficiency& point : points) {
    const double x = std::log(point.tokens) - line.mean_x;
    line.sxx += x * x;
    sxy += x * (std::log(point.efficiency.ratio) - line.mean_y);
  }
  line.slope = sxy / line.sxx;
  for (const BudgetEfficiency& point : points) {
    const double y = std::log(point.efficiency.ratio) - line.mean_y -
                     line.slope * (std::log(point.tokens) - line.mean_x);
    rest += y * y;
  }
  line.deviation = std::sqrt(rest / (m - 2));
  return line;
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
  const LogLine straight = fit_log_line(ends);
  trend.by_line = trend.law.at_bound;
  trend.points = trend.by_line ? efficiencies(budgets, straight) : efficiencies(budgets, trend.law);
  const std::vector<PowerLaw> laws = admissible_laws(ends);
  trend.least_floor = trend.most_floor = trend.law.floor;
  for (const PowerLaw& law : laws) {
    trend.least_floor = std::min(trend.least_floor, law.floor);
    trend.most_floor = std::max(trend.most_floor, law.floor);
  }
  trend.lack_of_fit_p =
      trend.by_line
          ? lack_of_fit([&](double tokens) { return line_at(straight, tokens); }, 2, budgets)
          : lack_of_fit([&](double tokens) { return law_at(trend.law, tokens); }, 3, budgets);
  if (trend.lack_of_fit_p < kLevel) {
    trend.refusal =
        "the ends lie further from the best power law than the scatter of seeds "
        "explains (p " +
        (trend.lack_of_fit_p < 0.001 ? "below 0.001" : significant(trend.lack_of_fit_p, 2)) + ")";
    return trend;
  }
  if (trend.by_line) {
    trend.refusal =
        "the ends ask for a floor below 0, which no loss has: they show no floor, and any from " +
        significant(trend.least_floor, 2) + " to " + significant(trend.most_floor, 2) +
        " fits about as well";
    return trend;
  }
  if (!all_finite(trend.points)) {
    trend.refusal =
        "at some budget the candidate is at or below the floor of the power law, so "
        "that no amount of data equals it";
    return trend;
  }
  trend.line_ = ReturnsTrend::line_of(trend.points);
  for (const PowerLaw& law : laws) {
    const std::vector<BudgetEfficiency> points = efficiencies(budgets, law);
    if (all_finite(points)) trend.others_.push_back(ReturnsTrend::line_of(points));
  }
  trend.slope = trend.slope_low = trend.slope_high = trend.line_.slope;
  const double t = student_t_quantile(0.975, static_cast<int64_t>(trend.points.size()) - 2);
  trend.others_.push_back(trend.line_);
  for (const ReturnsTrend::Line& line : trend.others_) {
    const double half = t * line.deviation / std::sqrt(line.sxx);
    trend.slope_low = std::min(trend.slope_low, line.slope - half);
    trend.slope_high = std::max(trend.slope_high, line.slope + half);
  }
  return trend;
}

}  // namespace draftlab

#include "reports/stats/statistics.h"

#include <algorithm>
#include <boost/math/distributions/non_central_t.hpp>
#include <boost/math/distributions/students_t.hpp>
#include <boost/math/tools/roots.hpp>
#include <cmath>
#include <limits>

namespace draftlab {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

double standard_error(const Estimate& differences, double least_sd) {
  if (std::isnan(differences.sd)) return kNaN;
  return std::max(differences.sd, least_sd) / std::sqrt(static_cast<double>(differences.n));
}

}  // namespace

double student_t_quantile(double probability, int64_t degrees_of_freedom) {
  const boost::math::students_t distribution(static_cast<double>(degrees_of_freedom));
  return boost::math::quantile(distribution, probability);
}

Estimate estimate(const std::vector<double>& values) {
  Estimate result{static_cast<int64_t>(values.size()), kNaN, kNaN, kNaN, kNaN};
  if (values.empty()) return result;
  const double n = static_cast<double>(values.size());
  double sum = 0;
  for (double value : values) sum += value;
  result.mean = sum / n;
  if (values.size() < 2 || !std::isfinite(result.mean)) return result;
  double squares = 0;
  for (double value : values) squares += (value - result.mean) * (value - result.mean);
  result.sd = std::sqrt(squares / (n - 1));
  const double half = student_t_quantile(0.975, result.n - 1) * result.sd / std::sqrt(n);
  result.low = result.mean - half;
  result.high = result.mean + half;
  return result;
}

double median(std::vector<double> values) {
  if (values.empty()) return kNaN;
  for (double value : values) {
    if (std::isnan(value)) return kNaN;
  }
  std::sort(values.begin(), values.end());
  const size_t middle = values.size() / 2;
  if (values.size() % 2 == 1 || values[middle - 1] == values[middle]) return values[middle];
  return (values[middle - 1] + values[middle]) / 2;
}

double interpolate(const std::vector<Point>& points, double x) {
  for (size_t i = 0; i < points.size(); ++i) {
    if (points[i].x == x) return points[i].y;
    if (i == 0 || !(points[i - 1].x < x && x < points[i].x)) continue;
    const double share = (x - points[i - 1].x) / (points[i].x - points[i - 1].x);
    return points[i - 1].y + share * (points[i].y - points[i - 1].y);
  }
  return kNaN;
}

double first_crossing(const std::vector<Point>& points, double level, bool lower_is_better) {
  const auto there = [&](size_t i) {  // NaN is not
    return lower_is_better ? points[i].y <= level : points[i].y >= level;
  };
  for (size_t i = 0; i + 1 < points.size(); ++i) {
    if (!there(i) || !there(i + 1)) continue;
    const Point& here = points[i];
    if (i == 0 || !std::isfinite(points[i - 1].y) || !std::isfinite(here.y)) return here.x;
    const Point& before = points[i - 1];
    return before.x + (level - before.y) / (here.y - before.y) * (here.x - before.x);
  }
  return kInfinity;
}

double t_value(const Estimate& differences) {
  if (!(differences.sd > 0)) return kNaN;
  return differences.mean / (differences.sd / std::sqrt(static_cast<double>(differences.n)));
}

double p_value(const Estimate& differences, double least_sd) {
  const double error = standard_error(differences, least_sd);
  if (std::isnan(error)) return kNaN;
  if (error == 0) return differences.mean == 0 ? 1 : 0;
  const boost::math::students_t distribution(static_cast<double>(differences.n - 1));
  return 2 * boost::math::cdf(distribution, -std::abs(differences.mean / error));
}

double equivalence_p(const Estimate& differences, double margin, double least_sd) {
  const double error = standard_error(differences, least_sd);
  if (std::isnan(error)) return kNaN;
  if (error == 0) return std::abs(differences.mean) < margin ? 0 : 1;
  const boost::math::students_t distribution(static_cast<double>(differences.n - 1));
  return boost::math::cdf(distribution, (std::abs(differences.mean) - margin) / error);
}

Estimate at_level(const Estimate& differences, double level, double least_sd) {
  Estimate wider = differences;
  if (std::isnan(differences.sd) || !(level > 0)) return wider;
  // In the order of estimate(), so that its interval comes back bit for bit.
  const double half = student_t_quantile(1 - level / 2, differences.n - 1) *
                      std::max(differences.sd, least_sd) /
                      std::sqrt(static_cast<double>(differences.n));
  wider.low = differences.mean - half;
  wider.high = differences.mean + half;
  return wider;
}

double detectable_difference(const Estimate& differences, double level, double least_sd,
                             double power) {
  if (std::isnan(differences.sd)) return kNaN;
  const double freedom = static_cast<double>(differences.n - 1);
  const double critical = student_t_quantile(1 - level / 2, differences.n - 1);
  const auto lack = [&](double centrality) {
    const boost::math::non_central_t distribution(freedom, centrality);
    return boost::math::cdf(boost::math::complement(distribution, critical)) +
           boost::math::cdf(distribution, -critical) - power;
  };
  uintmax_t iterations = 200;
  const auto [low, high] = boost::math::tools::bracket_and_solve_root(
      lack, critical + 1, 2.0, true, boost::math::tools::eps_tolerance<double>(50), iterations);
  return (low + high) / 2 * standard_error(differences, least_sd);
}

void holm_in_pairs(std::vector<double>& p, std::vector<double>& beyond) {
  struct Hypothesis {
    double* p;
    size_t question;
  };
  std::vector<Hypothesis> order;
  std::vector<int> left(p.size(), 0);  // hypotheses of a question that are not rejected
  for (std::vector<double>* side : {&p, &beyond}) {
    for (size_t i = 0; i < side->size(); ++i) {
      if (std::isnan((*side)[i])) continue;
      order.push_back({&(*side)[i], i});
      ++left[i];
    }
  }
  std::ranges::stable_sort(order, {}, [](const Hypothesis& one) { return *one.p; });
  auto questions = static_cast<double>(p.size());
  double largest = 0;
  for (const Hypothesis& one : order) {
    largest = std::max(largest, std::min(1.0, questions * *one.p));
    *one.p = largest;
    if (--left[one.question] == 0) --questions;
  }
}

std::vector<double> holm(const std::vector<double>& p) {
  std::vector<double> adjusted = p, none(p.size(), kNaN);
  holm_in_pairs(adjusted, none);
  return adjusted;
}

Estimate interval_of_claim(const Estimate& differences, double p, double adjusted_p,
                           int64_t comparisons, double least_sd) {
  const double factor = p > 0 ? adjusted_p / p : static_cast<double>(comparisons);
  return at_level(differences, kClaimLevel / std::max(1.0, factor), least_sd);
}

std::vector<double> expected_best(std::vector<double> values, bool lower_is_better) {
  std::sort(values.begin(), values.end(), [&](double a, double b) {
    if (std::isnan(a) || std::isnan(b)) return !std::isnan(a) && std::isnan(b);
    return lower_is_better ? a < b : a > b;
  });
  const size_t n = values.size();
  std::vector<double> expected;
  for (size_t k = 1; k <= n; ++k) {
    // The i-th best is the best of k where it is chosen with k - 1 of the n - i behind it: with
    // probability C(n - i, k - 1) / C(n, k), here from one i to the next.
    double probability = static_cast<double>(k) / static_cast<double>(n), sum = 0;
    for (size_t i = 1; i + k <= n + 1; ++i) {
      sum += probability * values[i - 1];
      if (i < n) probability *= static_cast<double>(n - i - k + 1) / static_cast<double>(n - i);
    }
    expected.push_back(sum);
  }
  return expected;
}

double speedup(double reference, double other) {
  if (std::isinf(reference) && std::isinf(other)) return kNaN;
  return reference / other;
}

}  // namespace draftlab

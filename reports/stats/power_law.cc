#include "reports/stats/power_law.h"

#include <algorithm>
#include <boost/math/tools/roots.hpp>
#include <cmath>
#include <limits>

#include "reports/stats/statistics.h"

namespace draftlab {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kLowest = 0.01, kHighest = 10;  // exponents
constexpr int kGrid = 200;

using Matrix = std::array<std::array<double, 3>, 3>;

// The best law of one exponent.
struct Profile {
  double scale = 0, floor = 0;
  double rest = 0;   // weighted sum of squares
  double slope = 0;  // of `rest` by the exponent, over twice the scale
};

Profile profile(const std::vector<EndPoint>& points, double unit, double exponent) {
  double weights = 0, z_mean = 0, y_mean = 0;
  for (const EndPoint& p : points) {
    weights += p.weight;
    z_mean += p.weight * std::pow(p.tokens / unit, -exponent);
    y_mean += p.weight * p.loss;
  }
  z_mean /= weights;
  y_mean /= weights;
  double zz = 0, zy = 0;
  for (const EndPoint& p : points) {
    const double z = std::pow(p.tokens / unit, -exponent) - z_mean;
    zz += p.weight * z * z;
    zy += p.weight * z * (p.loss - y_mean);
  }
  Profile result;
  result.scale = zy / zz;
  result.floor = y_mean - result.scale * z_mean;
  for (const EndPoint& p : points) {
    const double z = std::pow(p.tokens / unit, -exponent);
    // From the means, so that rounding does not grow with the floor.
    const double rest = (p.loss - y_mean) - result.scale * (z - z_mean);
    result.rest += p.weight * rest * rest;
    result.slope += p.weight * rest * z * std::log(p.tokens / unit);
  }
  return result;
}

double exponent_at(int i) {
  return kLowest * std::pow(kHighest / kLowest, static_cast<double>(i) / kGrid);
}

Matrix inverse(const Matrix& m) {
  Matrix result;
  double determinant = 0;
  for (int i = 0; i < 3; ++i) {
    for (int j = 0; j < 3; ++j) {
      const int a = (j + 1) % 3, b = (j + 2) % 3, c = (i + 1) % 3, d = (i + 2) % 3;
      result[i][j] = m[a][c] * m[b][d] - m[a][d] * m[b][c];
    }
    determinant += m[0][i] * result[i][0];
  }
  for (auto& row : result) {
    for (double& value : row) value /= determinant;
  }
  return result;
}

Matrix covariance(const std::vector<EndPoint>& points, const PowerLaw& law, double rest) {
  Matrix information = {};
  for (const EndPoint& p : points) {
    const double x = p.tokens / law.unit, z = std::pow(x, -law.exponent);
    const double gradient[3] = {z, -law.scale * z * std::log(x), 1};
    for (int i = 0; i < 3; ++i) {
      for (int j = 0; j < 3; ++j) information[i][j] += p.weight * gradient[i] * gradient[j];
    }
  }
  Matrix result = inverse(information);
  const double variance =
      law.degrees_of_freedom > 0 ? rest / static_cast<double>(law.degrees_of_freedom) : kNaN;
  for (auto& row : result) {
    for (double& value : row) value *= variance;
  }
  return result;
}

std::string refusal(const std::vector<EndPoint>& points) {
  // Seeds of one budget see a few labels more or less: what lies closer together is one budget.
  constexpr double kSameBudget = 1.1;
  std::vector<double> tokens;
  for (const EndPoint& p : points) {
    if (!std::isfinite(p.loss) || !(p.tokens > 0) || !(p.weight > 0)) {
      return "an end point has no finite loss, or no tokens or weight above 0";
    }
    tokens.push_back(p.tokens);
  }
  std::sort(tokens.begin(), tokens.end());
  int64_t budgets = 0;
  double first = 0;  // tokens of the budget at hand
  for (const double count : tokens) {
    if (count <= kSameBudget * first) continue;
    first = count;
    ++budgets;
  }
  if (budgets >= 3) return "";
  return "a power law needs the ends of runs of at least 3 budgets, each with a schedule that ends "
         "there; there " +
         std::string(budgets == 1 ? "is 1" : "are " + std::to_string(budgets));
}

}  // namespace

PowerLaw fit_power_law(const std::vector<EndPoint>& points) {
  PowerLaw law;
  law.refusal = refusal(points);
  if (!law.refusal.empty()) return law;
  for (const EndPoint& p : points) law.unit += std::log(p.tokens);
  law.unit = std::exp(law.unit / static_cast<double>(points.size()));
  law.degrees_of_freedom = static_cast<int64_t>(points.size()) - 3;

  int best = 0;
  double least = kInfinity;
  for (int i = 0; i <= kGrid; ++i) {
    const double rest = profile(points, law.unit, exponent_at(i)).rest;
    if (rest < least) {
      least = rest;
      best = i;
    }
  }
  const auto slope = [&](double exponent) { return profile(points, law.unit, exponent).slope; };
  double low = exponent_at(best - 1), high = exponent_at(best + 1);
  const bool falls = profile(points, law.unit, exponent_at(best)).scale > 0;
  if (!falls || best == 0 || best == kGrid || slope(low) * slope(high) > 0) {
    law.refusal = "the end points do not follow a falling power law: no exponent between " +
                  std::to_string(kLowest).substr(0, 4) + " and 10 fits best";
    return law;
  }
  uintmax_t iterations = 200;
  const auto bracket = boost::math::tools::toms748_solve(
      slope, low, high, boost::math::tools::eps_tolerance<double>(52), iterations);
  law.exponent = (bracket.first + bracket.second) / 2;
  const Profile fit = profile(points, law.unit, law.exponent);
  law.scale = fit.scale;
  law.floor = fit.floor;
  law.covariance = covariance(points, law, fit.rest);
  return law;
}

DataEfficiency data_efficiency(const PowerLaw& law, double tokens, double loss, double error) {
  if (std::isnan(loss)) return {kNaN, kNaN, kNaN};
  const double above = loss - law.floor;
  if (above <= 0) return {kInfinity, kNaN, kNaN};
  const double log_units = std::log(law.scale / above) / law.exponent;  // of D_eff
  const double log_ratio = log_units + std::log(law.unit / tokens);
  const double gradient[3] = {1 / (law.scale * law.exponent), -log_units / law.exponent,
                              1 / (law.exponent * above)};
  double variance = gradient[2] * gradient[2] * error * error;
  for (int i = 0; i < 3; ++i) {
    for (int j = 0; j < 3; ++j) variance += gradient[i] * law.covariance[i][j] * gradient[j];
  }
  if (std::isnan(variance)) return {std::exp(log_ratio), kNaN, kNaN};
  const double half = student_t_quantile(0.975, law.degrees_of_freedom) * std::sqrt(variance);
  return {std::exp(log_ratio), std::exp(log_ratio - half), std::exp(log_ratio + half)};
}

}  // namespace draftlab

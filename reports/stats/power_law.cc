#include "reports/stats/power_law.h"

#include <algorithm>
#include <boost/math/distributions/fisher_f.hpp>
#include <boost/math/tools/minima.hpp>
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

// As `covariance`, where the floor is not fitted: zero for it.
Matrix floor_held(const std::vector<EndPoint>& points, const PowerLaw& law) {
  double aa = 0, ab = 0, bb = 0;
  for (const EndPoint& p : points) {
    const double x = p.tokens / law.unit, z = std::pow(x, -law.exponent);
    const double a = z, b = -law.scale * z * std::log(x);
    aa += p.weight * a * a;
    ab += p.weight * a * b;
    bb += p.weight * b * b;
  }
  const double determinant = aa * bb - ab * ab;
  const double variance =
      law.degrees_of_freedom > 0 ? law.rest / static_cast<double>(law.degrees_of_freedom) : kNaN;
  Matrix result = {};
  result[0][0] = variance * bb / determinant;
  result[0][1] = result[1][0] = -variance * ab / determinant;
  result[1][1] = variance * aa / determinant;
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

double geometric_mean(const std::vector<EndPoint>& points) {
  double sum = 0;
  for (const EndPoint& p : points) sum += std::log(p.tokens);
  return std::exp(sum / static_cast<double>(points.size()));
}

// The best law with this floor: the scale follows from the exponent.
PowerLaw law_of_floor(const std::vector<EndPoint>& points, double floor, bool at_bound) {
  PowerLaw law;
  law.unit = geometric_mean(points);
  law.floor = floor;
  law.at_bound = at_bound;
  law.degrees_of_freedom = static_cast<int64_t>(points.size()) - 2;  // the floor is given
  const auto rest_at = [&](double log_exponent) {
    const double exponent = std::exp(log_exponent);
    double zz = 0, zy = 0, rest = 0;
    for (const EndPoint& p : points) {
      const double z = std::pow(p.tokens / law.unit, -exponent);
      zz += p.weight * z * z;
      zy += p.weight * z * (p.loss - floor);
    }
    law.scale = zy / zz;
    for (const EndPoint& p : points) {
      const double distance = p.loss - floor - law.scale * std::pow(p.tokens / law.unit, -exponent);
      rest += p.weight * distance * distance;
    }
    return rest;
  };
  const auto [log_exponent, rest] = boost::math::tools::brent_find_minima(
      rest_at, std::log(kLowest / 10), std::log(kHighest), 40);
  law.exponent = std::exp(log_exponent);
  law.rest = rest_at(log_exponent);
  if (!(law.scale > 0) || !std::isfinite(rest)) law.refusal = "no falling power law has this floor";
  law.covariance = floor_held(points, law);
  return law;
}

}  // namespace

PowerLaw fit_power_law(const std::vector<EndPoint>& points, double least_floor) {
  PowerLaw law;
  law.refusal = refusal(points);
  if (!law.refusal.empty()) return law;
  law.unit = geometric_mean(points);
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
  const bool falls = profile(points, law.unit, exponent_at(best)).scale > 0;
  // The smaller the exponent, the lower the floor: a straight line in log tokens has none.
  if (falls && best == 0) return law_of_floor(points, least_floor, true);
  const auto slope = [&](double exponent) { return profile(points, law.unit, exponent).slope; };
  double low = exponent_at(std::max(0, best - 1)), high = exponent_at(std::min(kGrid, best + 1));
  if (!falls || best == kGrid || slope(low) * slope(high) > 0) {
    law.refusal = "the end points do not follow a falling power law: no exponent between " +
                  std::to_string(kLowest).substr(0, 4) + " and 10 fits best";
    return law;
  }
  uintmax_t iterations = 200;
  const auto bracket = boost::math::tools::toms748_solve(
      slope, low, high, boost::math::tools::eps_tolerance<double>(52), iterations);
  law.exponent = (bracket.first + bracket.second) / 2;
  const Profile fit = profile(points, law.unit, law.exponent);
  const auto [low_end, high_end] = std::ranges::minmax(points, {}, &EndPoint::loss);
  const double hair = 1e-6 * (high_end.loss - low_end.loss);  // of rounding
  if (fit.floor < least_floor - hair) return law_of_floor(points, least_floor, true);
  law.scale = fit.scale;
  law.floor = fit.floor;
  law.rest = fit.rest;
  law.covariance = covariance(points, law, fit.rest);
  return law;
}

std::vector<PowerLaw> admissible_laws(const std::vector<EndPoint>& points, double least_floor) {
  constexpr int kFloors = 40;
  const PowerLaw best = fit_power_law(points, least_floor);
  std::vector<PowerLaw> laws;
  if (!best.refusal.empty()) return laws;
  double lowest = kInfinity;
  for (const EndPoint& p : points) lowest = std::min(lowest, p.loss);
  const int64_t freedom = best.degrees_of_freedom;
  const double most =
      freedom < 1
          ? kInfinity
          : best.rest * (1 + boost::math::quantile(
                                 boost::math::fisher_f(1, static_cast<double>(freedom)), 0.95) /
                                 static_cast<double>(freedom));
  for (int i = 0; i < kFloors; ++i) {
    const double floor = least_floor + (lowest - least_floor) * i / kFloors;
    PowerLaw law = law_of_floor(points, floor, false);
    if (law.refusal.empty() && law.rest <= most) laws.push_back(std::move(law));
  }
  laws.push_back(best);
  return laws;
}

LogLine fit_log_line(const std::vector<EndPoint>& points) {
  LogLine line;
  line.unit = geometric_mean(points);
  line.least_tokens = kInfinity;
  double mean_loss = 0, products = 0, rest = 0;
  for (const EndPoint& p : points) {
    line.weights += p.weight;
    line.mean_log += p.weight * std::log(p.tokens / line.unit);
    mean_loss += p.weight * p.loss;
    line.least_tokens = std::min(line.least_tokens, p.tokens);
    line.most_tokens = std::max(line.most_tokens, p.tokens);
  }
  line.mean_log /= line.weights;
  mean_loss /= line.weights;
  for (const EndPoint& p : points) {
    const double x = std::log(p.tokens / line.unit) - line.mean_log;
    line.squares += p.weight * x * x;
    products += p.weight * x * (p.loss - mean_loss);
  }
  line.slope = products / line.squares;
  line.intercept = mean_loss - line.slope * line.mean_log;
  for (const EndPoint& p : points) {
    const double distance = p.loss - line.intercept - line.slope * std::log(p.tokens / line.unit);
    rest += p.weight * distance * distance;
  }
  line.degrees_of_freedom = static_cast<int64_t>(points.size()) - 2;
  line.deviation = line.degrees_of_freedom < 1
                       ? kNaN
                       : std::sqrt(rest / static_cast<double>(line.degrees_of_freedom));
  return line;
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

DataEfficiency data_efficiency(const LogLine& line, double tokens, double loss, double error) {
  const double log_units = (loss - line.intercept) / line.slope;  // of D_eff
  const double needed = line.unit * std::exp(log_units);
  // A hair of rounding is no extrapolation.
  const bool measured =
      needed >= line.least_tokens * (1 - 1e-9) && needed <= line.most_tokens * (1 + 1e-9);
  if (!measured || !(line.slope < 0)) return {kNaN, kNaN, kNaN};
  const double log_ratio = std::log(needed / tokens);
  const double x = log_units - line.mean_log;
  const double variance =
      error * error + line.deviation * line.deviation * (1 / line.weights + x * x / line.squares);
  if (std::isnan(variance)) return {std::exp(log_ratio), kNaN, kNaN};
  const double half = student_t_quantile(0.975, line.degrees_of_freedom) * std::sqrt(variance) /
                      std::abs(line.slope);
  return {std::exp(log_ratio), std::exp(log_ratio - half), std::exp(log_ratio + half)};
}

}  // namespace draftlab

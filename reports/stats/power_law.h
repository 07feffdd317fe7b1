#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace draftlab {

// The end of one training run whose schedule ended there.
struct EndPoint {
  double tokens = 0;
  double loss = 0;
  double weight = 1;  // one over its variance, up to a factor that all share
};

// loss = scale * (tokens / unit)^-exponent + floor.
struct PowerLaw {
  double unit = 0;  // geometric mean of the tokens
  double scale = 0, exponent = 0, floor = 0;
  int64_t degrees_of_freedom = 0;  // end points - 3
  // Of (scale, exponent, floor), from the scatter of the end points; NaN without a degree of
  // freedom.
  std::array<std::array<double, 3>, 3> covariance = {};
  double rest = 0;        // weighted sum of squared distances
  bool at_bound = false;  // the ends ask for a floor below the least one: they do not show a floor
  std::string refusal;    // why there is no law; then nothing else counts
};

// Weighted least squares: for each exponent the best scale and floor follow linearly, and the
// exponent is where the rest is smallest. The floor is at least `least_floor`: neither a cross
// entropy nor a number of missed slots can be below 0. Refused below three budgets (tokens within a
// tenth of each other are one), and where no exponent of 0.01 to 10 fits best. Deterministic.
PowerLaw fit_power_law(const std::vector<EndPoint>& points, double least_floor = 0);

// The best laws with the floor held, at floors from `least_floor` up to the lowest end: those that
// fit about as well as the best one (an F test of one parameter at the level 0.05; all of them
// where no degree of freedom is left to test). Empty where there is no law.
std::vector<PowerLaw> admissible_laws(const std::vector<EndPoint>& points, double least_floor = 0);

// loss = intercept + slope log(tokens / unit): what is left of a power law whose ends show no
// floor.
struct LogLine {
  double unit = 0, intercept = 0, slope = 0;
  double least_tokens = 0, most_tokens = 0;  // of the ends, outside of which it says nothing
  double deviation = 0;                      // of one end from it; NaN without a degree of freedom
  int64_t degrees_of_freedom = 0;            // end points - 2
  double weights = 0, squares = 0;           // sums over the ends, of (log tokens - mean)^2
  double mean_log = 0;                       // weighted, of tokens / unit
};
// REQUIRES: ends of two budgets at least.
LogLine fit_log_line(const std::vector<EndPoint>& points);

// How many times more data the law's runs need for `loss` than the `tokens` another run took: the
// ratio D_eff / D of Wen et al. 2025 (arXiv 2509.02046), with a 95 % interval by the delta method
// on its logarithm; `error` is the standard error of `loss`. Infinity where the loss is at or below
// the floor; low and high are NaN where they are not known. REQUIRES: law.refusal is empty.
struct DataEfficiency {
  double ratio, low, high;
};
DataEfficiency data_efficiency(const PowerLaw& law, double tokens, double loss, double error = 0);
// The same by the line, NaN where the reference has no end with as low or as high a loss.
DataEfficiency data_efficiency(const LogLine& line, double tokens, double loss, double error = 0);

}  // namespace draftlab

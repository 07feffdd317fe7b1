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
  std::string refusal;  // why there is no law; then nothing else counts
};

// Weighted least squares: for each exponent the best scale and floor follow linearly, and the
// exponent is where the rest is smallest. Refused below three budgets (tokens within a tenth of
// each other are one), and where no exponent of 0.01 to 10 fits best. Deterministic.
PowerLaw fit_power_law(const std::vector<EndPoint>& points);

// How many times more data the law's runs need for `loss` than the `tokens` another run took: the
// ratio D_eff / D of Wen et al. 2025 (arXiv 2509.02046), with a 95 % interval by the delta method
// on its logarithm; `error` is the standard error of `loss`. Infinity where the loss is at or below
// the floor; low and high are NaN where they are not known. REQUIRES: law.refusal is empty.
struct DataEfficiency {
  double ratio, low, high;
};
DataEfficiency data_efficiency(const PowerLaw& law, double tokens, double loss, double error = 0);

}  // namespace draftlab

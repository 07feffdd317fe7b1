#pragma once

#include <limits>
#include <string>
#include <vector>

#include "reports/stats/power_law.h"
#include "reports/stats/statistics.h"

namespace draftlab {

// How the data efficiency of one optimizer against another moves with the training budget.

// The ends of annealed runs of one budget. Values fall as training goes on (a loss, or the slots of
// a block that are missed), one for each seed.
struct Budget {
  double tokens = 0;  // of one run
  double epochs = 0;  // how often each training sequence was seen
  std::vector<double> current, candidate;
};

struct BudgetEfficiency {
  double tokens = 0, epochs = 0;
  DataEfficiency efficiency;
};

// A predicted ratio D_eff / D with its 95 % interval for one further budget.
struct RatioPrediction {
  double ratio = std::numeric_limits<double>::quiet_NaN(), low = ratio, high = ratio;
};

struct ReturnsTrend {
  std::string refusal;  // why nothing may be extrapolated; points may be there all the same
  PowerLaw law;         // of the current optimizer's ends
  // The lowest and the highest floor that describe these ends about as well (admissible_laws).
  double least_floor = 0, most_floor = 0;
  bool by_line =
      false;  // the ends show no floor: ratios are read off a straight line in log tokens
  // p of the F test that the law's distances from the budgets' means are more than the scatter of
  // seeds (Draper and Smith 1998, 2.2); NaN: too few budgets or seeds to test.
  double lack_of_fit_p = std::numeric_limits<double>::quiet_NaN();
  std::vector<BudgetEfficiency> points;  // by rising budget
  // log ratio = intercept + slope log tokens, by least squares over the budgets.
  double slope = 0, slope_low = 0, slope_high = 0;

  // Of a single further budget, so with the scatter around the line: intercept + slope x
  // +- t(0.975, m - 2) s sqrt(1 + 1/m + (x - mean)^2 / Sxx) on the logarithm. The interval holds
  // those of every admissible floor: which of them is right is not known. REQUIRES: no refusal.
  RatioPrediction at(double tokens) const;

 private:
  friend ReturnsTrend returns_trend(std::vector<Budget> budgets);
  // The line through the logarithms of the ratios by one law.
  struct Line {
    double mean_x, mean_y, slope, sxx, deviation;
    size_t m;
    RatioPrediction at(double tokens) const;
  };
  static Line line_of(const std::vector<BudgetEfficiency>& points);
  Line line_ = {};
  std::vector<Line> others_;  // by the other admissible laws
};

// Refused below three budgets, where the current optimizer's ends follow no power law, show no
// floor at or above 0 (then ratios are told, and nothing is extrapolated) or lie further from the
// law than their scatter explains (p below 0.05), and where a ratio is not finite.
ReturnsTrend returns_trend(std::vector<Budget> budgets);

}  // namespace draftlab

#include "reports/study/paired_curve.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace draftlab {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

const Result* with_seeds(const std::vector<const Result*>& runs, const Seeds& seeds) {
  for (const Result* run : runs) {
    if (run->seeds == seeds) return run;
  }
  return nullptr;
}

const EvaluationRow* at_step(const Result& run, int64_t step) {
  for (const EvaluationRow& row : run.held_out) {
    if (row.step == step) return &row;
  }
  return nullptr;
}

// Steps from `from` to the first evaluation from which on `values` are below 0.
double length_after(const std::vector<int64_t>& steps, const std::vector<double>& values,
                    int64_t from) {
  double length = kInfinity;
  for (size_t i = steps.size(); i-- > 0 && steps[i] > from && values[i] < 0;)
    length = static_cast<double>(steps[i] - from);
  return length;
}

}  // namespace

PairedCurve paired_curve(const std::vector<const Result*>& a, const std::vector<const Result*>& b,
                         Measure measure) {
  PairedCurve curve;
  std::vector<std::pair<const Result*, const Result*>> pairs;
  for (const Result* run : a) {
    if (const Result* other = with_seeds(b, run->seeds)) pairs.emplace_back(run, other);
  }
  if (pairs.empty()) return curve;
  for (const EvaluationRow& row : pairs.front().first->held_out) {
    const bool common = std::ranges::all_of(pairs, [&](const auto& pair) {
      return at_step(*pair.first, row.step) != nullptr &&
             at_step(*pair.second, row.step) != nullptr;
    });
    if (common) curve.steps.push_back(row.step);
  }
  for (const auto& [run, other] : pairs) {
    curve.seeds.push_back(run->seeds);
    std::vector<double> values;
    for (const int64_t step : curve.steps) {
      values.push_back(value_of(*at_step(*run, step), measure) -
                       value_of(*at_step(*other, step), measure));
    }
    curve.of_seed.push_back(std::move(values));
  }
  for (size_t i = 0; i < curve.steps.size(); ++i) {
    std::vector<double> values;
    for (const std::vector<double>& seed : curve.of_seed) values.push_back(seed[i]);
    curve.mean.push_back(estimate(values));
  }
  return curve;
}

Transient transient_after(const PairedCurve& curve, int64_t from) {
  Transient transient;
  transient.peak = estimate({});
  std::vector<double> means;
  for (size_t i = 0; i < curve.steps.size(); ++i) {
    const Estimate& mean = curve.mean[i];
    means.push_back(mean.mean);
    if (curve.steps[i] <= from) continue;
    // A NaN that is the peak stays it.
    const bool larger = mean.mean > transient.peak.mean || std::isnan(mean.mean);
    const bool known = transient.peak.n == 0 || !std::isnan(transient.peak.mean);
    if (!known || (transient.peak.n > 0 && !larger)) continue;
    transient.peak = mean;
    transient.peak_step = curve.steps[i];
  }
  transient.length = length_after(curve.steps, means, from);
  for (const std::vector<double>& seed : curve.of_seed)
    transient.length_of_seed.push_back(length_after(curve.steps, seed, from));
  return transient;
}

double one_block(const std::vector<const Result*>& a, const std::vector<const Result*>& b) {
  int64_t blocks = 0;
  for (const std::vector<const Result*>* runs : {&a, &b}) {
    for (const Result* run : *runs)
      if (!run->held_out.empty()) blocks = std::max(blocks, run->held_out.back().blocks);
  }
  return blocks == 0 ? 0 : 1 / static_cast<double>(blocks);
}

Estimate final_difference(const std::vector<const Result*>& a, const std::vector<const Result*>& b,
                          Measure measure) {
  std::vector<double> differences;
  for (const Result* run : a) {
    const Result* other = with_seeds(b, run->seeds);
    if (other == nullptr) continue;
    differences.push_back(run->final(Split::kHeldOut, measure) -
                          other->final(Split::kHeldOut, measure));
  }
  return estimate(differences);
}

}  // namespace draftlab

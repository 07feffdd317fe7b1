#include "reports/stats/acceptance.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "base/random.h"

namespace draftlab {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr size_t kFewestPrompts = 5;  // below, too many resamples hold one prompt alone
// With these, the 2.5 % and 97.5 % points are the 50th and the 1950th of the sorted resamples.
constexpr size_t kResamples = 1999, kLow = 49, kHigh = 1949;

// A prompt's weight and its weighted sum.
using Prompt = std::pair<double, double>;

struct Ratio {
  double value, error;
};

// Sum of the sums over the sum of the weights, and its linearized standard error (Cochran 1977,
// 6.4). `prompt(i)` is the i-th of n.
template <typename Get>
Ratio ratio(size_t n, const Get& prompt) {
  double weights = 0, sums = 0, ww = 0, ws = 0, ss = 0;
  for (size_t i = 0; i < n; ++i) {
    const auto [weight, sum] = prompt(i);
    weights += weight;
    sums += sum;
    ww += weight * weight;
    ws += weight * sum;
    ss += sum * sum;
  }
  const double value = sums / weights, count = static_cast<double>(n);
  const double squares = std::max(0.0, ss - 2 * value * ws + value * value * ww);
  return {value, std::sqrt(count / (count - 1) * squares) / weights};
}

// A resample of one prompt over and over has rounding for an error.
bool none(double error, double value) { return error <= 1e-9 * std::abs(value); }

PromptMean resampled(std::vector<Prompt> prompts) {
  PromptMean mean{static_cast<int64_t>(prompts.size()), kNaN, kNaN, kNaN};
  if (prompts.empty()) return mean;
  std::sort(prompts.begin(), prompts.end());
  const size_t n = prompts.size();
  const Ratio all = ratio(n, [&](size_t i) { return prompts[i]; });
  mean.value = 1 + all.value;
  if (n < kFewestPrompts) return mean;
  if (none(all.error, all.value)) {
    mean.low = mean.high = mean.value;
    return mean;
  }
  Random random(0, "prompts resampled");
  std::vector<double> t(kResamples);
  for (double& one : t) {
    const Ratio again = ratio(n, [&](size_t) { return prompts[random.below(n)]; });
    const double off = again.value - all.value;
    one = none(again.error, all.value) ? std::copysign(kInfinity, off) : off / again.error;
  }
  std::sort(t.begin(), t.end());
  mean.low = mean.value - t[kHigh] * all.error;
  mean.high = mean.value - t[kLow] * all.error;
  return mean;
}

}  // namespace

double joint_acceptance_length(const std::vector<double>& prefix_share) {
  double length = 1;
  for (double share : prefix_share) length += share;
  return length;
}

double product_acceptance_length(const std::vector<double>& slot_accuracy) {
  double length = 1, product = 1;
  for (double accuracy : slot_accuracy) length += product *= accuracy;
  return length;
}

double marginal_accuracy(const std::vector<double>& slot_accuracy) {
  if (slot_accuracy.empty()) return kNaN;
  double sum = 0;
  for (double accuracy : slot_accuracy) sum += accuracy;
  return sum / static_cast<double>(slot_accuracy.size());
}

PromptMean pooled_acceptance_length(const std::vector<int64_t>& blocks,
                                    const std::vector<int64_t>& matches) {
  std::vector<Prompt> prompts;
  for (size_t i = 0; i < blocks.size(); ++i) {
    if (blocks[i] == 0) continue;
    prompts.emplace_back(blocks[i], matches[i]);
  }
  return resampled(std::move(prompts));
}

PromptMean per_prompt_acceptance_length(const std::vector<int64_t>& blocks,
                                        const std::vector<int64_t>& matches) {
  std::vector<Prompt> prompts;
  for (size_t i = 0; i < blocks.size(); ++i) {
    if (blocks[i] == 0) continue;
    prompts.emplace_back(1, static_cast<double>(matches[i]) / static_cast<double>(blocks[i]));
  }
  return resampled(std::move(prompts));
}

}  // namespace draftlab

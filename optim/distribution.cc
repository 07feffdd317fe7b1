#include "optim/distribution.h"

#include <algorithm>
#include <limits>
#include <numeric>

namespace draftlab {
namespace {

// Threads that wait for each other inside one task suffer where the machine is busy, so that a
// smaller gain is none.
constexpr double kWorthwhile = 0.97;

}  // namespace

Distribution distribute(const std::vector<double>& costs, int threads, double efficiency) {
  std::vector<size_t> order(costs.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return costs[a] > costs[b]; });
  if (threads <= 1) return {order, {}};
  Distribution best;
  double best_time = std::numeric_limits<double>::infinity(), alone_time = 0;
  for (size_t alone = 0; alone <= order.size(); ++alone) {
    Distribution candidate{{order.begin(), order.begin() + static_cast<std::ptrdiff_t>(alone)},
                           std::vector<std::vector<size_t>>(threads)};
    std::vector<double> busy(threads, 0);
    for (size_t i = alone; i < order.size(); ++i) {
      const size_t free = std::min_element(busy.begin(), busy.end()) - busy.begin();
      candidate.by_thread[free].push_back(order[i]);
      busy[free] += costs[order[i]];
    }
    const double time = alone_time + *std::max_element(busy.begin(), busy.end());
    if (time < kWorthwhile * best_time) {
      best_time = time;
      best = std::move(candidate);
    }
    if (alone < order.size()) alone_time += costs[order[alone]] / (threads * efficiency);
  }
  return best;
}

}  // namespace draftlab

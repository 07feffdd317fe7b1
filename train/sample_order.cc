#include "train/sample_order.h"

#include "base/random.h"

namespace draftlab {

std::vector<Visit> visits_of_step(int64_t size, int64_t sequences_per_step, int64_t data_seed,
                                  int64_t step) {
  std::vector<Visit> visits;
  std::vector<int64_t> order;
  int64_t order_epoch = -1;
  for (int64_t i = step * sequences_per_step; i < (step + 1) * sequences_per_step; ++i) {
    const int64_t epoch = i / size;
    if (epoch != order_epoch) {
      order = permutation(size, Random(data_seed, "sample order", epoch));
      order_epoch = epoch;
    }
    visits.push_back({order[i % size], epoch});
  }
  return visits;
}

}  // namespace draftlab

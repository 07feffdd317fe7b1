#include "train/sample_order.h"

#include "base/error.h"
#include "base/random.h"

namespace draftlab {

SplitRecords split_records(const SplitConfig& config, int64_t size, const std::string& where) {
  const int64_t wanted = config.train + config.tuning + config.held_out;
  if (wanted > size) {
    throw Error(where, "the split asks for " + std::to_string(wanted) +
                           " sequences, the store has " + std::to_string(size) +
                           "; ask for fewer, or build a larger store");
  }
  const std::vector<int64_t> order = permutation(size, Random(0, "split"));
  auto next = order.begin();
  const auto take = [&next](int64_t count) {
    const auto begin = next;
    next += count;
    return std::vector<int64_t>(begin, next);
  };
  SplitRecords split;
  split.train = take(config.train);
  split.tuning = take(config.tuning);
  split.held_out = take(config.held_out);
  return split;
}

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

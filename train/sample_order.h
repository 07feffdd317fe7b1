#pragma once

#include <cstdint>
#include <vector>

namespace draftlab {

// The places (0 .. size-1) in the training list that optimizer step t = 0, 1, ... uses, and how
// often each was used before. Each epoch is a permutation of its own; a batch may cross from one
// epoch into the next.
struct Visit {
  int64_t place = 0;
  int64_t epoch = 0;
};
std::vector<Visit> visits_of_step(int64_t size, int64_t sequences_per_step, int64_t data_seed,
                                  int64_t step);

}  // namespace draftlab

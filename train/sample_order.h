#pragma once

#include <cstdint>
#include <vector>

#include "record/segment.h"

namespace draftlab {

// The records of a store by use; indices into the store. Every record is in at most one list.
struct SplitRecords {
  std::vector<int64_t> train, tuning, held_out;
};

// A pure function of (config, size): the same for every run on one store. Throws Error naming
// `where` if the store has too few records.
SplitRecords split_records(const SplitConfig& config, int64_t size, const std::string& where);

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

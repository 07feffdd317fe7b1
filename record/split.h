#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "record/segment.h"

namespace draftlab {

// The records of a store by use; indices into the store. Every record is in at most one list.
struct SplitRecords {
  std::vector<int64_t> train, tuning, held_out;
};

// Record by record, in one fixed random order. A pure function of (config, size): the same for
// every run on one store. Throws Error naming `where` if the store has too few records.
SplitRecords split_records(const SplitConfig& config, int64_t size, const std::string& where);

// Group by group, so that no two lists have records of one: `group_of` names the group of each
// record of the store. The largest groups are dealt first, each to a list drawn by the places that
// it has left; one of more than a quarter of the tuning or held-out places goes to training while
// that has room, so that no one kind of prompt decides. Where no list has room for all of a group,
// one is filled with a part of it and the rest is used nowhere. A pure function, whatever the names
// are. Throws Error naming `where`, with numbers, if a record has no group (""), if a group is
// larger than the training part, or if the groups are too few or too large to fill every list.
SplitRecords split_groups(const SplitConfig& config, const std::vector<std::string>& group_of,
                          const std::string& where);

}  // namespace draftlab

#pragma once

#include "record/split.h"
#include "store/reader.h"

namespace draftlab {

// Who trains and who is measured, as planned: a pure function of the store and the configuration.
// By similarity it reads the prompts of the whole store, all of whose shards are then checked.
// Throws Error naming the store if it cannot be split like that (record/split.h).
SplitRecords planned_split(StoreReader& store, const SplitConfig& config);

}  // namespace draftlab

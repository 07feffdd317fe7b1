#pragma once

#include <vector>

#include "record/run_folder.h"
#include "record/segment.h"
#include "record/transfer.h"
#include "train/checkpoint.h"

namespace draftlab {

// What a segment trains on from.
struct StartingPoint {
  Checkpoint state;
  bool resumed = false;               // it is the segment's own last checkpoint
  std::vector<TransferRow> transfer;  // else: what became of the parent's optimizer state
  std::vector<std::string> notices;   // what was passed over, and why
};

// The segment's last checkpoint that is whole and fits its metrics, else its parent's, else initial
// weights: training is deterministic, so a checkpoint that is passed over costs time and changes no
// number. Reads files and writes none. Throws Error for a parent that is not trained, or whose
// checkpoint is broken.
StartingPoint starting_point(const SegmentTask& task, const SegmentFolder& folder);

}  // namespace draftlab

#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "record/metrics.h"
#include "record/outcome.h"
#include "record/run_folder.h"

namespace draftlab {

// What the folder of a segment says of it, at any time: before it began, while it trains, after a
// crash.
struct SegmentState {
  bool started = false;            // a worker was given it
  std::optional<Outcome> outcome;  // nothing: not started, still training, or its worker vanished
  Metrics metrics;                 // as far as they are on disk
  // The last step that is known to be done: the outcome's, else the last one logged, else where the
  // segment starts. A worker that failed does not know its step; any other may have logged one
  // more, whose update was never applied.
  int64_t step = 0;
  std::string
      broken;  // the file of it that cannot be read, and why; all else is as far as it is whole
};

SegmentState read_segment_state(const SegmentFolder& folder, int64_t from_step);

// The outcome on disk; one that cannot be read is a failure with that reason.
std::optional<Outcome> outcome_on_disk(const SegmentFolder& folder);

// Done and diverged are results, which nothing runs again.
bool is_result(OutcomeKind kind);

}  // namespace draftlab

#include "record/segment_state.h"

#include <algorithm>

#include "base/error.h"

namespace draftlab {

SegmentState read_segment_state(const SegmentFolder& folder, int64_t from_step) {
  SegmentState state;
  state.step = from_step;
  const bool logged = std::filesystem::exists(folder.metrics());
  state.started = logged || std::filesystem::exists(folder.task());
  try {
    state.outcome = read_outcome(folder.outcome(), folder.id());
  } catch (const Error& error) {
    state.broken = error.what();
  }
  try {
    if (logged) {
      state.metrics =
          read_metrics(folder.metrics(), state.outcome ? state.outcome->metrics_sha256 : "");
    }
  } catch (const Error& error) {
    state.broken = error.what();
  }
  if (state.outcome && state.outcome->kind != OutcomeKind::kFailed) {
    state.step = state.outcome->step;
  } else if (!state.metrics.steps.empty()) {
    state.step = state.metrics.steps.back().step;
  }
  return state;
}

std::optional<Outcome> outcome_on_disk(const SegmentFolder& folder) {
  try {
    return read_outcome(folder.outcome(), folder.id());
  } catch (const Error& error) {
    Outcome broken;
    broken.segment = folder.id();
    broken.reason = error.what();
    return broken;
  }
}

bool is_result(OutcomeKind kind) {
  return kind == OutcomeKind::kDone || kind == OutcomeKind::kDiverged;
}

}  // namespace draftlab

#pragma once

#include <optional>
#include <string>
#include <vector>

#include "record/plan.h"
#include "record/run_folder.h"
#include "runner/planner.h"
#include "runner/sweep.h"

namespace draftlab {

// The tuning protocol. Every arm runs each point of its grid on the tuning seeds. Its best point is
// chosen as record/choice.h says, by the target's metric (acceptance length without a target) on
// the tuning split at the last step. If that point has the smallest or largest learning rate of its
// row (the points that agree in everything else), the arm tries one more, as far beyond as the last
// two are apart (their ratio) but within the option's range, up to `extend` times. Then the best
// point runs with fresh seeds, and only those runs are reported. With rungs (runner/halving.h) the
// trials stop at each of them, and the better points of every arm go on to the next.

// The finished trials of a plan that came furthest, by arm and point; read from the runs' metrics.
struct ArmTrials {
  std::string arm;
  int64_t step = 0;  // at which all of these were judged
  std::vector<TrialScore> scores;
};
std::vector<ArmTrials> read_trials(const RunFolder& folder, const PlanRecord& plan);

// What follows from the trials: the way to the next rung, more trials where an arm's best lies on
// an edge, else the final runs; with the decisions that led there. Nothing if every arm's trials
// diverged. A pure function of its arguments. REQUIRES: sweep.tuning; every trial so far has a
// result.
std::optional<PlanRecord> next_phase(const Sweep& sweep, const PlannedStore& store,
                                     const std::vector<ArmTrials>& trials);

// The phases behind the first as they would be if each arm's first points were best: what they
// cost.
std::vector<PlanRecord> example_phases(const Sweep& sweep, const PlannedStore& store);

// "AdamW: lr=0.001 is best of 3 (acceptance_length 1.412 on the tuning split), ...".
std::string text_of(const TuningDecision& decision);

}  // namespace draftlab

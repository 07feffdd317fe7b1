#pragma once

#include <string>
#include <vector>

#include "base/json.h"
#include "reports/pipeline/pipeline_simulation.h"

namespace draftlab {

// What `draftlab pipeline` gives to machines. `simulated` belongs to `cases`, one by one.

// {"name", "cases": [{"hidden_states", "topology", "optimizer", "phases": [...], ...}]}: rates in
// batches/s, times in seconds, shares of 1; infinite and undefined numbers as "Infinity" and "NaN".
Json pipeline_json(const PipelineSpec& spec, const std::vector<PipelineCase>& cases,
                   const std::vector<SimulatedCase>& simulated);

// One row per case, phase and window: the queue over time.
std::string pipeline_csv(const std::vector<PipelineCase>& cases,
                         const std::vector<SimulatedCase>& simulated);

}  // namespace draftlab

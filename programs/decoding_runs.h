#pragma once

#include <iosfwd>
#include <optional>
#include <vector>

#include "record/decoding.h"
#include "record/plan.h"
#include "record/run_folder.h"

namespace draftlab {

// "decode" of the plan's sweep; nothing where it has none.
std::optional<DecodingSettings> decoding_of(const PlanRecord& plan);

// Decodes with the drafter of a run's last segment, by a worker that has the machine to itself, and
// writes `out`. Throws Error where it fails; nothing is read back if the user interrupted.
// REQUIRES: an InterruptCounter.
std::optional<DecodingRecord> decode_run(const RunFolder& folder, const PlanRecord& plan,
                                         const PlannedRun& run, DecodingSettings settings,
                                         const std::filesystem::path& out);

// The same of all reported runs of the plan that are done and lack it, where the sweep asks for it,
// into decoding.json of their last segments; a failure is told and leaves the results as they are.
// Returns false if the user interrupted and something is left.
bool decode_reported_runs(const RunFolder& folder, const PlanRecord& plan, std::ostream& out);

// "1.62 tokens a pass, 1.31 times plain decoding (41.0 against 31.3 tokens/s; 12 % drafting, 80 %
// verifying); 36 answers are the plain ones"
std::string decoding_text(const DecodingRecord& record);

}  // namespace draftlab

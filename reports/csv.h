#pragma once

#include <string>
#include <vector>

#include "reports/result.h"

namespace draftlab {

// Comma-separated values after RFC 4180: lines end with CR LF, fields with a comma, quote or line
// break are quoted. Numbers are the shortest text that reads back the same, in every locale; "NaN"
// and "Infinity" are written out; an empty field means no such number. "val" is the held-out split.

// One row per planned run, in the plan's order.
std::string runs_csv(const std::vector<Result>& results);

// One row per run and evaluated step. The columns up to the per-slot ones are of the held-out
// split; slot_k_accuracy and prefix_k_share have one column for each slot of the largest block; the
// tuning split's numbers at the same step follow.
std::string evaluations_csv(const std::vector<Result>& results);

// One row per run, evaluated step and kind of layer: what the update did there (record/metrics.h).
// gradient_norm (mean) and clipped_share are those of the steps since the evaluation before,
// schedule is the factor on the rate at this step; these are the same for every kind.
std::string updates_csv(const std::vector<Result>& results);

// `text` as one field.
std::string csv_field(const std::string& text);

}  // namespace draftlab

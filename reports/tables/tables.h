#pragma once

#include <string>
#include <vector>

#include "reports/study/study.h"

namespace draftlab {

// The tables beside a report's page, as CSV (csv.h); docs/csv.md defines every column. Their
// numbers come from the functions that the page calls, so that a figure and its table agree.

// One row per planned run, in the plan's order.
std::string runs_csv(const std::vector<Result>& results);

// One row per run and evaluated step. The columns up to the per-slot ones are of the held-out
// split; slot_k_accuracy and prefix_k_share have one column for each slot of the largest block; the
// tuning split's numbers at the same step follow.
std::string evaluations_csv(const std::vector<Result>& results);

// One row per run, evaluated step and kind of layer: what the update did there (record/metrics.h).
// Spectra have a column for each of these percentages, weight_sigma_0 and so on, where some run has
// spectra.
inline constexpr const char* kSpectrumColumns[] = {"0", "25", "50", "75", "100"};
std::string updates_csv(const std::vector<Result>& results);

// One row per arm: the setting that is shown of it.
std::string arms_csv(const Study& study);

// One row per kind of optimizer and length of training (budget_study.h); "" where there is one.
std::string budgets_csv(const Study& study);

// One row per tabulated pair of arms, measure and view: the differences over the seeds in common.
std::string pairs_csv(const Study& study);

// One row per finding, and one for each check that found nothing.
std::string checks_csv(const Study& study);

// One row per arm and setting that was tried.
std::string trials_csv(const Summary& summary);
std::string best_of_csv(const Summary& summary);

}  // namespace draftlab

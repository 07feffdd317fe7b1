#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "reports/study/fairness_finding.h"
#include "reports/study/study.h"

namespace draftlab {

// The checks of fairness.h, by what they look at. Each is a pure function of the study.
using Findings = std::vector<FairnessFinding>;

inline constexpr int64_t kFewPrompts = 30;  // below, an interval over prompts is itself uncertain

// "RUN", "RUN and RUN", "RUN and 11 more runs"; and their arms, each once.
std::string runs_text(const std::vector<const Result*>& runs);
std::vector<std::string> arms_of(const std::vector<const Result*>& runs);

// checks_tuning.cc: how settings were chosen.
Findings unequal_trials(const Study& study);         // F01
Findings unequal_search_spaces(const Study& study);  // F02
Findings best_at_the_edge(const Study& study);       // F03
Findings coarse_grid(const Study& study);            // F04
Findings stability_limit(const Study& study);        // F05
Findings reported_trials(const Study& study);        // F06
Findings tied_settings(const Study& study);          // F36
Findings untuned_arms(const Study& study);           // F37
Findings narrow_choice(const Study& study);          // F41

// checks_data.cc: what runs learned from and were measured on.
Findings unequal_data(const Study& study);             // F08
Findings unequal_stores(const Study& study);           // F09
Findings unequal_initial_weights(const Study& study);  // F10
Findings unequal_evaluations(const Study& study);      // F16
Findings weak_acceptance(const Study& study);          // F30
Findings duplicate_sequences(const Study& study);      // F35
Findings shared_seeds(const Study& study);             // F38
Findings many_epochs(const Study& study);              // F42
Findings unlabelled_steps(const Study& study);         // F43
Findings near_copies(const Study& study);              // F44

// checks_training.cc: what else differs in how they were trained.
Findings unequal_training(const Study& study);    // F11
Findings unequal_schedules(const Study& study);   // F12
Findings wrong_routing(const Study& study);       // F24
Findings unstated_options(const Study& study);    // F25
Findings unequal_updates(const Study& study);     // F26
Findings options_of_one_arm(const Study& study);  // F40

// checks_machine.cc: where and with what they ran, and what their seconds are.
Findings unequal_machines(const Study& study);  // F18
Findings uneven_clock(const Study& study);      // F19
Findings shared_machines(const Study& study);   // F20
Findings unequal_builds(const Study& study);    // F27
Findings resumed_runs(const Study& study);      // F28

// checks_results.cc: what came out.
Findings few_seeds(const Study& study);             // F07
Findings unfinished_runs(const Study& study);       // F13
Findings missing_evaluations(const Study& study);   // F15
Findings unreached_target(const Study& study);      // F21
Findings target_in_the_decay(const Study& study);   // F22
Findings divergence(const Study& study);            // F23
Findings identical_runs(const Study& study);        // F29
Findings disagreeing_measures(const Study& study);  // F31
Findings no_target(const Study& study);             // F33
Findings one_budget(const Study& study);            // F34
Findings below_baseline(const Study& study);        // F39

}  // namespace draftlab

#pragma once

#include <string>

#include "reports/study/study.h"

namespace draftlab {

// The sections of the page, in its order. Each returns HTML with every name escaped; section_*.cc.
std::string opening_section(const Study& study);    // the first screen: opening.h
std::string overview(const Study& study);           // what was compared and on what
std::string contents(const std::string& sections);  // links to these
std::string fairness_section(const Study& study);   // what the checks found
std::string answer_section(const Study& study);     // a sentence for each question
std::string differences(const Study& study);        // paired, to the reference; a part of a section
std::string values_section(const Study& study);     // final values per arm beside the baselines
std::string curves_section(const Study& study);     // against steps, seconds and tokens
std::string many_curves(const Study& study);        // one by one, where so many hide each other
std::string settings_section(const Study& study);   // learning-rate curves
std::string option_surfaces(const Study& study);    // two swept options; a part of a section
std::string trials_section(const Study& study);     // the best of k settings
std::string acceptance_section(const Study& study);  // its definitions side by side
std::string steps_section(const Study& study);       // best rate against orthogonalization steps
std::string switch_section(const Study& study);      // what changing the optimizer in mid-run did
std::string target_section(const Study& study);      // time to target
std::string decoding_section(const Study& study);    // tokens a second with the drafters
std::string budgets_section(const Study& study);     // ends of several lengths of training
std::string survival_section(const Study& study);    // acceptance per slot, and against loss
std::string updates_section(const Study& study);     // sizes of updates, gradients, orthogonality
std::string dead_tensors(const Summary& summary);    // named; a part of a section
std::string spectra(const Summary& summary);         // singular values; a part of a section
std::string seconds_section(const Study& study);     // seconds per step
std::string routing_section(const Study& study);     // which tensor got which update rule
std::string options_section(const Study& study);     // every resolved option, side by side
std::string jobs_section(const Study& study);        // what ran when, and how it ended
std::string cost_section(const Study& study);        // of tuning and of final runs, per arm
std::string runs_section(const Study& study);        // every run with a fold
std::string excluded_section(const Study& study);  // runs that are not in the numbers, with reasons
std::string definitions_section(const Study& study);
std::string provenance_section(const Study& study);

// Colour, dashes and marker of every arm that has a chosen setting, with that setting.
std::string legend(const Summary& summary);
// True if a run that is shown shared the machine, so that its seconds are rough.
bool shared_machine(const Summary& summary);

}  // namespace draftlab

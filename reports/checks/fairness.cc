#include "reports/checks/fairness.h"

#include <algorithm>

#include "reports/checks/checks.h"
#include "reports/stats/claim.h"

namespace draftlab {
namespace {

constexpr auto kRefuse = Severity::kRefuse;
constexpr auto kWarn = Severity::kWarn;
constexpr auto kInform = Severity::kInform;

}  // namespace

std::string runs_text(const std::vector<const Result*>& runs) {
  std::string text = runs.front()->run;
  if (runs.size() == 2) text += " and " + runs[1]->run;
  if (runs.size() > 2) text += " and " + std::to_string(runs.size() - 1) + " more runs";
  return text;
}

std::vector<std::string> arms_of(const std::vector<const Result*>& runs) {
  std::vector<std::string> arms;
  for (const Result* run : runs) {
    if (std::find(arms.begin(), arms.end(), run->arm) == arms.end()) arms.push_back(run->arm);
  }
  return arms;
}

const std::vector<CheckKind>& check_kinds() {
  static const std::vector<CheckKind> kinds = {
      {"F01", kRefuse, "does every arm have as many settings with a result?", unequal_trials, "",
       "unequal numbers of trials"},
      {"F02", kWarn, "are the search spaces equally wide?", unequal_search_spaces, "",
       "unequal search spaces"},
      {"F03", kRefuse, "does a best value lie at the edge of its grid?", best_at_the_edge, "",
       "best at the edge of its grid"},
      {"F04", kInform, "is the grid of rates fine around the best?", coarse_grid, "",
       "coarse grid"},
      {"F05", kInform, "is the best rate the largest that does not diverge?", stability_limit, "",
       "limited by stability"},
      {"F06", kWarn, "are the reported runs others than the trials?", reported_trials, "",
       "reported runs chose the settings"},
      {"F07", kRefuse, "are there " + kFewestSeedsInWords + " seeds, the same in every arm?",
       few_seeds, "", "too few seeds"},
      {"F08", kRefuse, "did runs with equal seeds see the same data?", unequal_data, "",
       "unequal data"},
      {"F09", kRefuse, "is it one store, one drafter, one kind of label?", unequal_stores, "",
       "unequal store or drafter"},
      {"F10", kWarn, "did runs with equal seeds start from the same weights?",
       unequal_initial_weights, "", "unequal initial weights"},
      {"F11", kRefuse, "are batch, anchors, clip and device the same?", unequal_training, "",
       "unequal batch, clip or device"},
      {"F12", kRefuse, "is it one schedule, read at its end?", unequal_schedules, "",
       "unequal or unfinished schedules"},
      {"F13", kRefuse, "did every run reach the end of its plan?", unfinished_runs, "",
       "unfinished runs"},
      {"F14", kRefuse, "did a run stop early by its own loss?", nullptr,
       "no run stops by a loss: it ends at the plan's last step, diverges, or fails",
       "early stopping"},
      {"F15", kWarn, "was every run evaluated equally often?", missing_evaluations, "",
       "unequal numbers of evaluations"},
      {"F16", kRefuse, "were all evaluated on the same blocks at the same steps?",
       unequal_evaluations, "", "unequal evaluations"},
      {"F17", kRefuse, "is a smoothed number reported?", nullptr,
       "nothing is smoothed, neither numbers nor drawings", "smoothing"},
      {"F18", kWarn, "were the seconds measured on one kind of machine?", unequal_machines, "",
       "several machines"},
      {"F19", kWarn, "are training steps alone on the clock?", uneven_clock, "", "uneven clock"},
      {"F20", kWarn, "did runs share a machine while they were timed?", shared_machines, "",
       "shared machine"},
      {"F21", kInform, "is the target reached by all seeds, twice in a row?", unreached_target, "",
       "target not reached by all"},
      {"F22", kWarn, "is a speed-up one of schedules?", target_in_the_decay, "",
       "target reached in the decay"},
      {"F23", kRefuse, "did a run diverge?", divergence, "", "diverged runs"},
      {"F24", kRefuse, "does each tensor get the update its arm is named after?", wrong_routing, "",
       "wrong routing"},
      {"F25", kWarn, "do rates or decays differ that nobody stated?", unstated_options, "",
       "unstated options"},
      {"F26", kInform, "are updates of similar size?", unequal_updates, "",
       "unequal sizes of update"},
      {"F27", kWarn, "is it one build?", unequal_builds, "", "several builds"},
      {"F28", kWarn, "did a run stop and go on?", resumed_runs, "", "resumed runs"},
      {"F29", kRefuse, "do two runs have the same numbers?", identical_runs, "", "identical runs"},
      {"F30", kRefuse, "is acceptance of one definition, on enough prompts, beside a baseline?",
       weak_acceptance, "", "weak acceptance"},
      {"F31", kInform, "do loss and acceptance length agree?", disagreeing_measures, "",
       "loss disagrees"},
      {"F32", kWarn, "are many comparisons taken for one?", nullptr,
       "a claim needs an adjusted p of at most " + kClaimLevelText +
           " (Holm) over all questions of the sweep",
       "many comparisons"},
      {"F33", kWarn, "was the target fixed before anything ran?", no_target, "", "no target"},
      {"F34", kInform, "is there more than one budget or drafter?", one_budget, "", "one budget"},
      {"F35", kRefuse, "are held-out sequences also trained on?", duplicate_sequences, "",
       "duplicates"},
      {"F36", kWarn, "does the deciding measure tell the settings of an arm apart?", tied_settings,
       "", "tied settings"},
      {"F37", kWarn, "was any arm tuned?", untuned_arms, "", "nothing tuned"},
      {"F38", kRefuse, "does every seed have weights and data of its own?", shared_seeds, "",
       "shared seeds"},
      {"F39", kWarn, "is every arm above a bigram table?", below_baseline, "",
       "below a bigram table"},
      {"F40", kWarn, "has an arm an option that is neither default, tuned nor every arm's?",
       options_of_one_arm, "", "options of some arms alone"},
      {"F41", kWarn, "were settings chosen on enough prompts for the gap that decided?",
       narrow_choice, "", "settings chosen on few prompts"},
      {"F42", kWarn, "how often did training see each sequence?", many_epochs, "", "many epochs"},
      {"F43", kInform, "did every step have labels?", unlabelled_steps, "", "steps without labels"},
      {"F44", kWarn, "are held-out prompts near copies of training prompts?", near_copies, "",
       "near copies in held-out"},
  };
  return kinds;
}

std::vector<FairnessFinding> check(const Study& study) {
  std::vector<FairnessFinding> all;
  for (const CheckKind& kind : check_kinds()) {
    if (kind.run == nullptr) continue;
    for (FairnessFinding& finding : kind.run(study)) {
      finding.id = kind.id;
      all.push_back(std::move(finding));
    }
  }
  return all;
}

std::string counts_text(const std::vector<FairnessFinding>& findings) {
  const auto count = [&](Severity severity) {
    return std::ranges::count(findings, severity, &FairnessFinding::severity);
  };
  const auto part = [&](Severity severity, const char* one, const char* many) {
    const int64_t n = count(severity);
    return std::to_string(n) + (n == 1 ? one : many);
  };
  return part(kRefuse, " refuses a winner, ", " refuse a winner, ") +
         part(kWarn, " warns, ", " warn, ") + part(kInform, " informs", " inform");
}

}  // namespace draftlab

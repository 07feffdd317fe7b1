#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "record/schedule.h"
#include "reports/study/result.h"

namespace draftlab {

// Runs that leave a common path at one step, and what each of them is there. All of it follows from
// the configurations of their segments; names of arms are only shown.

// Where a switch lies on the schedule of its run.
struct SwitchPlace : SchedulePlace {
  double rate = 0;      // factor on the learning rate of the first update behind it, unless changed
  bool decays = false;  // that factor is on its way down
};

// Runs that train alike but for their seeds.
struct SwitchSetting {
  OptimizerConfig optimizer;            // behind the switch
  std::vector<const Result*> runs;      // those that are reported
  std::vector<const Result*> finished;  // of them
  std::vector<const Result*> trials;    // those that only helped to choose
  int64_t diverged = 0;                 // of `runs`
  int64_t place = 0;                    // among the settings as planned
};

// One way to go on, at every learning rate that was tried.
struct SwitchVariant {
  std::string name;             // its arm, and what tells it from the arm's other variants
  bool same_optimizer = false;  // all but rate and start are as before the switch
  bool reset_only = false;      // R: as before the switch, but with zeros for optimizer state
  StartConfig start;
  std::vector<SwitchSetting> settings;          // by rising learning rate
  std::vector<SwitchSetting> from_start;        // M: the same optimizer from step 0 on, likewise
  std::optional<size_t> best, best_from_start;  // nothing: no finished run

  const SwitchSetting* chosen() const { return best ? &settings[*best] : nullptr; }
  const SwitchSetting* chosen_from_start() const {
    return best_from_start ? &from_start[*best_from_start] : nullptr;
  }
};

// All runs with one training configuration, one path up to the switch and one step of it.
struct SwitchGroup {
  std::string folder;    // that all its runs are in
  SegmentConfig before;  // of the last segment before the switch, with the seeds of one run
  SwitchPlace place;
  SwitchSetting uninterrupted;          // A: the path before the switch, trained to the end
  SwitchSetting resumed;                // A': the same in a segment of its own behind the switch
  std::vector<SwitchVariant> variants;  // those with the optimizer as before first

  // What others are compared with: A', or A where there is no finished A'.
  const std::vector<const Result*>& reference() const {
    return resumed.finished.empty() ? uninterrupted.finished : resumed.finished;
  }
};

// In the order of the plan; groups in which nothing but A and A' ran are left out. A run with
// several switches belongs to the group of its last one. The best setting of a variant is chosen by
// the mean of `chosen_by` on `chosen_on`, as record/choice.h says.
std::vector<SwitchGroup> switch_groups(const std::vector<Result>& results, Measure chosen_by,
                                       Split chosen_on);

// What all runs of one comparison share besides their seeds: drafter, training, evaluation, split
// and store.
JsonObject conditions(const SegmentConfig& config);

// True if the two train alike, step by step, whatever segments they are cut into: a run that was
// resumed with nothing changed is meant to repeat the uninterrupted one.
bool same_training(const Result& a, const Result& b);

// "Muon lr=0.02"
std::string optimizer_name(const OptimizerConfig& optimizer);

}  // namespace draftlab

#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "record/choice.h"
#include "reports/study/result.h"

namespace draftlab {

// One number of every finished run of a setting, in the order of Setting::finished.
struct Sample {
  std::vector<double> values;
  Estimate estimate;
};

struct TargetCount {
  int64_t reached = 0, of = 0;                // of finished and diverged runs
  double steps = 0, tokens = 0, seconds = 0;  // medians over those, infinity allowed; NaN for none
  double median(Clock clock) const;
};

// One optimizer configuration of one arm, over all its seeds. Pointers into the results summarized.
struct Setting {
  OptimizerConfig optimizer;
  std::string label;  // its swept options: "learning_rate 0.01"; "" if nothing was swept
  int64_t place = 0;  // among the settings as planned: of its first run among the results
  std::vector<const Result*> runs;      // every planned seed
  std::vector<const Result*> finished;  // outcome "done"
  int64_t diverged = 0;
  std::array<Sample, kMeasures> first, last;       // held-out, at step 0 and at the planned end
  std::array<Sample, kMeasures> at_equal_seconds;  // held-out, at Summary::equal_seconds
  std::array<Sample, kMeasures>
      deciding;  // on Summary::chosen_on at the planned end: settings are chosen by it
  Sample train_seconds, steps_per_second;
  Sample seconds_per_step, data_per_step, model_per_step, optimizer_per_step;
  TargetCount target;
};

// An option whose value differs between the settings of an arm.
struct SweptOption {
  std::string key;
  std::vector<Json> values;  // as tried; numbers in rising order
  bool at_edge = false;      // a number, and the best setting has the smallest or largest one
};

struct Arm {
  std::string name;
  size_t look = 0;  // colour, dashes and marker follow from it (look.h)
  // By learning rate. Of a tuned arm the one setting that was chosen, with its final runs alone;
  // while there are none yet, its trials.
  std::vector<Setting> settings;
  std::vector<Setting> trials;     // what it was chosen from, by learning rate; else empty
  std::vector<SweptOption> swept;  // of tried()
  std::optional<size_t> best;      // of `settings`; nothing while no run of the arm is finished
  // Among tried(). Where trials of a tuned arm tie, `best` is what its final runs train with.
  std::optional<Choice> choice;
  // An earlier arm whose runs have the same weights, seed for seed: one training under two names,
  // such as a switch to what was there before. It is no second piece of evidence.
  std::optional<size_t> copy_of;

  const Setting* chosen() const { return best ? &settings[*best] : nullptr; }
  const std::vector<Setting>& tried() const { return trials.empty() ? settings : trials; }
  const Setting* chosen_trial() const { return choice ? &tried()[choice->best] : nullptr; }
  // True if the measure that decides tells none of several settings from the best.
  bool all_tie() const {
    return choice && choice->is_tie() && choice->tied.size() == tried().size();
  }
};

struct Summary {
  std::vector<Arm> arms;                           // as in the sweep
  size_t reference = 0;                            // the first AdamW arm, else the first arm
  Measure chosen_by = Measure::kAcceptanceLength;  // that of the plan's target, if it has one
  Split chosen_on = Split::kHeldOut;               // kTuning where the sweep has such a split
  // Training seconds when the fastest finished run of the chosen settings ends; NaN: none did.
  double equal_seconds = 0;
  std::optional<Baselines> baselines;
};

// The best setting of an arm is chosen by the mean of `chosen_by` on `chosen_on` at the planned
// end, as record/choice.h says.
Summary summarize(const std::vector<Result>& results, const TargetLevel& target);

// The same choice among other settings; null where none has a number.
const Setting* best_setting(const std::vector<const Setting*>& settings, Measure chosen_by);

// The tried settings of an arm that differ in the learning rate alone, by rising rate: one curve of
// the learning-rate chart each.
std::vector<std::vector<const Setting*>> rate_curves(const Arm& arm);

// The deciding measure of each setting that an arm tried, as far as any run of it ended; NaN where
// it diverged or was dropped and nothing is left.
std::vector<double> trial_values(const Arm& arm, Measure measure);
// Training seconds of all that an arm tried, dropped and diverged runs as far as they went.
double trial_seconds(const Arm& arm);

struct RoutingTotal {
  std::string rule;
  int64_t tensors = 0, parameters = 0;
};
// In the order in which the rules first appear.
std::vector<RoutingTotal> routing_totals(const std::vector<Route>& table);

// The run that stands for an arm where only its configuration matters.
const Result& example_run(const Arm& arm);

// Differences `a` - `b` of the runs of two settings with the same seeds. `of` picks the number.
using SampleOf = const Sample& (*)(const Setting&, Measure);
Estimate paired_difference(const Setting& a, const Setting& b, Measure measure, SampleOf of);
const Sample& deciding(const Setting& setting, Measure measure);
const Sample& at_end(const Setting& setting, Measure measure);
const Sample& at_equal_seconds(const Setting& setting, Measure measure);

}  // namespace draftlab

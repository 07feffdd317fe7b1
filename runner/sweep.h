#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "record/plan.h"
#include "record/segment.h"
#include "runner/equal_seconds.h"
#include "runner/halving.h"
#include "runner/stage.h"

namespace draftlab {

// One optimizer, or one sequence of them, to compare: every point of its grid runs once per seed.
struct SweepArm {
  std::string name;
  std::vector<ArmPoint> points;  // at least one
  bool searched = false;         // they are drawn from ranges (runner/search.h), not listed
  std::string where;             // "quick.json: arms[1]", for later errors
  // The sweep's, but for what the arm names itself. The drafter is parsed by the planner, which
  // knows the store's taps and mask token.
  Json drafter;
  TrainingConfig training;
  EvaluationConfig evaluation;
  std::string drafter_where, training_where;  // the objects that say so, for errors
};

// Trials choose each arm's point before the runs that count (runner/tuning.h).
struct TuningProtocol {
  std::vector<Seeds> seeds;        // of the trials; none of Sweep::seeds
  int64_t extend = 0;              // new learning rates an arm may try beyond the ends of its grid
  int64_t trials = 0;              // points of every arm where arms have ranges; 0: they have none
  int64_t search_seed = 1;         // of the shift of the points
  std::optional<Halving> halving;  // rungs on the way of every trial
};

// A sweep file as read and checked on its own; the planner checks it against the store.
struct Sweep {
  std::string name;
  std::filesystem::path file;        // absolute
  Json content;                      // as read, with the changes made
  std::vector<std::string> changes;  // of the command line (runner/sweep_changes.h)
  // Exactly one of these two is set, absolute.
  std::filesystem::path store_specification;
  std::filesystem::path store_folder;
  SplitConfig split;
  std::vector<Seeds> seeds;
  std::optional<TuningProtocol> tuning;
  TargetLevel target;
  // Arms get as many steps as fit a budget of seconds; what the file says of their steps counts
  // only until it is resolved.
  std::optional<EqualSeconds> equal_seconds;
  int64_t checkpoint_every = 100;
  std::vector<SweepArm> arms;
  std::vector<std::string> notices;  // what the user should know but need not change
};

// Reads a sweep file strictly (docs/sweep_file.md). Throws Error with the file and the path of the
// key.
Sweep read_sweep(const std::filesystem::path& file, const std::vector<std::string>& changes = {});
// The same from its content; `file` is for messages and relative paths.
Sweep parse_sweep(const Json& content, const std::filesystem::path& file);

}  // namespace draftlab

#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/lease.h"
#include "record/plan.h"
#include "record/run_folder.h"

namespace draftlab {

// What a command does to some runs of a folder: their names, and the segments that are theirs
// alone.
struct ChosenRuns {
  std::set<std::string> names, segments;
};

// The lock of a result folder whose runs are to change, taken before its plan is read, so that
// nobody adds to the plan in between; none for a dry run. Throws Error if it is no result folder.
std::optional<Lease> lock_runs(const RunFolder& folder, bool dry_run);

// Of the runs that `words` mean. Throws Error for a word that means no run or several, and for a
// run all of whose segments are shared with one that is not chosen.
ChosenRuns choose_runs(const PlanRecord& plan, const std::vector<std::string>& words);

// "AdamW seed=1: 1 segment to train anew; what it shares with other runs up to step 20 stays". One
// line a run, names made printable.
std::string text_of(const ChosenRuns& chosen, const PlanRecord& plan, const std::string& what);

}  // namespace draftlab

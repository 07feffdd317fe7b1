#pragma once

#include <string>
#include <vector>

#include "record/plan.h"
#include "record/run_folder.h"

namespace draftlab {

// One result folder of a study.
struct Source {
  RunFolder folder;
  // What tells it from the others: its name, or its path where names are equal. "": there is one.
  std::string label;
  // An arm of one name that trains alike in all folders that have it, but for seeds, is one arm
  // with the runs of all of them; a run that several folders hold is in the plan of one, where it
  // has a result. An arm of one name that trains differently somewhere is called "ARM (LABEL)" by
  // the first folder that trains it so, and its runs "RUN (LABEL)".
  PlanRecord plan;
};

// Throws Error for a folder that is given twice or has no readable plan.
std::vector<Source> read_sources(const std::vector<RunFolder>& folders);

// One plan for all: the runs, segments, decisions and notices of every source, `sweep` a list of
// theirs (of one source its own), and of what a plan has once the value that all agree on, else
// none: two targets are no target. REQUIRES: there is a source.
PlanRecord joined_plan(const std::vector<Source>& sources);

}  // namespace draftlab

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
  // An arm whose name other folders have too is called "ARM (LABEL)" here, and its runs "RUN
  // (LABEL)": arms of two folders are two arms, whatever they are called.
  PlanRecord plan;
};

// Throws Error for a folder that is given twice or has no readable plan.
std::vector<Source> read_sources(const std::vector<RunFolder>& folders);

// One plan for all: the runs, segments, decisions and notices of every source, `sweep` a list of
// theirs (of one source its own), and of what a plan has once the value that all agree on, else
// none: two targets are no target. REQUIRES: there is a source.
PlanRecord joined_plan(const std::vector<Source>& sources);

}  // namespace draftlab

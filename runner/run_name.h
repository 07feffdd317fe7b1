#pragma once

#include <string>
#include <vector>

#include "record/plan.h"
#include "record/run_folder.h"

namespace draftlab {

// The run of the plan that `text` means: its name, the id of its last segment, or the beginning of
// one name or id alone. Throws Error that lists the near ones, or all that it could be.
const PlannedRun& find_run(const PlanRecord& plan, const std::string& text);

// DIR/runs: for each run a link of its name to the folder of its last segment; of a run of several
// segments one for each, with the step that it leads to behind the name. Adds what is missing and
// removes links of runs that are no more; a file system without links has none.
void link_runs(const RunFolder& folder, const PlanRecord& plan);

// `name` as a file name: what no file name may hold becomes "_", what is too long is cut; several
// runs may get one name.
std::string file_name_of(const std::string& name);

}  // namespace draftlab

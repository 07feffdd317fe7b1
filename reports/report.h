#pragma once

#include "record/run_folder.h"

namespace draftlab {

// Writes report/index.html, report/runs.csv, report/evaluations.csv and report/updates.csv of a
// result folder, each replaced as a whole. The folder may be unfinished: runs without a result are
// listed with the reason. The same folder gives the same bytes. Throws Error if the plan cannot be
// read or a file cannot be written.
void write_report(const RunFolder& folder);

}  // namespace draftlab

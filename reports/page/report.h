#pragma once

#include <filesystem>
#include <vector>

#include "reports/study/study.h"

namespace draftlab {

// Writes the page index.html and its tables (tables.h) into `out`, each replaced as a whole. The
// same folders give the same bytes. Throws Error if a file cannot be written.
void write_report(const Study& study, const std::filesystem::path& out);

// A report of each folder in `out`/NAME, NAME being its folder's, and an index.html that links to
// them with what each answers. Throws Error where two folders have one name.
void write_reports(const std::vector<RunFolder>& folders, const std::filesystem::path& out);

// The report of one result folder in its own `report`. The folder may be unfinished: runs without a
// result are listed with the reason. Throws Error also if the plan cannot be read.
void write_report(const RunFolder& folder);

// Throws Error where writing a report to `out` would overwrite what is not one: `out` must be new,
// empty or a report, and lie in no result folder.
void require_report_place(const std::filesystem::path& out);

// Throws Error if `out` lies in a result folder, where only draftlab's own files belong.
void require_outside_results(const std::filesystem::path& out);

}  // namespace draftlab

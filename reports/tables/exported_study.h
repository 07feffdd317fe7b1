#pragma once

#include <filesystem>

#include "reports/study/study.h"

namespace draftlab {

// True for a folder that write_report() filled: it has a study.json, and no plan.json of its own.
bool holds_exported_study(const std::filesystem::path& folder);

// The study that a report was made of, from study.json, runs.csv, evaluations.csv, updates.csv and
// jobs.csv beside its page, checked anew. The other tables follow from it and are not read. Throws
// Error naming file, row and column for an unknown, missing or double column, a damaged number, a
// missing file, and for a field that does not agree with the rest: what is read is what would be
// written again. A measured number that no other column bears out is taken as it stands.
Study read_exported_study(const std::filesystem::path& folder);

// Throws Error for a folder that holds a report's tables without study.json, which older versions
// did not write.
void require_result_or_exported_study(const std::filesystem::path& folder);
// The checked study of a result folder, or of what was exported of it.
Study result_or_exported_study(const std::filesystem::path& folder);

}  // namespace draftlab

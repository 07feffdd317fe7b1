#pragma once

#include <string>

#include "reports/study/study.h"

namespace draftlab {

// study.json, which stands beside a report's tables: the plans, and of every run what no table has.
// With runs.csv, evaluations.csv, updates.csv and jobs.csv it is the whole study
// (exported_study.h). Paths of the machine are cut to their last part; the sweep is as it was read,
// as on the page. docs/csv.md has the grammar.
std::string study_record(const Study& study);

// Sources, plan and results as study_record() wrote them; of a result what is in a table is not
// set, but for the steps of its evaluations, which are there already. Unknown keys, and runs that
// are not those of the plan, are errors that name the key.
Study read_study_record(const Json& value, const std::string& where);

}  // namespace draftlab

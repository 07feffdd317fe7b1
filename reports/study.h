#pragma once

#include <vector>

#include "record/plan.h"
#include "record/run_folder.h"
#include "reports/result.h"
#include "reports/store_facts.h"
#include "reports/summary.h"

namespace draftlab {

// All that a report is made of. `summary` points into `results`: to be moved, not copied.
struct Study {
  PlanRecord plan;
  StoreFacts store;
  std::vector<Result> results;
  Summary summary;

  Study() = default;
  Study(Study&&) = default;
  Study& operator=(Study&&) = default;
};

// Throws Error if there is no readable plan; anything else that is missing or broken becomes part
// of the study.
Study load_study(const RunFolder& folder);

}  // namespace draftlab

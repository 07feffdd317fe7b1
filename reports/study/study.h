#pragma once

#include <vector>

#include "record/events.h"
#include "record/plan.h"
#include "record/run_folder.h"
#include "reports/study/fairness_finding.h"
#include "reports/study/result.h"
#include "reports/study/sources.h"
#include "reports/study/summary.h"

namespace draftlab {

// All that a report is made of. `summary` points into `results`: to be moved, not copied.
struct Study {
  std::vector<Source> sources;
  PlanRecord plan;  // all of theirs in one: joined_plan
  std::vector<Result> results;
  std::vector<WorkerEvent> events;
  Summary summary;
  std::vector<FairnessFinding> findings;  // of all checks, by id; see checks/checked_study.h

  Study() = default;
  Study(Study&&) = default;
  Study& operator=(Study&&) = default;
};

// Seconds of training that every arm was given, where the sweep compares at equal seconds: each has
// as many steps as fit, and ends there with its schedule. NaN where it compares at equal steps.
double budget_seconds(const PlanRecord& plan);

// Sets the summary, which follows from plan and results.
void add_summary(Study& study);

// Throws Error if there is no readable plan; anything else that is missing or broken becomes part
// of the study.
Study load_study(const RunFolder& folder);
// Several result folders as one study; whether they belong together is for the checks. Throws also
// for a folder that is given twice. REQUIRES: there is one.
Study load_study(const std::vector<RunFolder>& folders);

}  // namespace draftlab

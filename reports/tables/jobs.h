#pragma once

#include <string>
#include <vector>

#include "reports/study/study.h"

namespace draftlab {

// One segment with every attempt to train it.
struct Job {
  std::string segment;  // its id
  std::string name;     // the run it belongs to: "muon seed=1", "muon seed=1, part 2, and 3 more"
  std::vector<WorkerEvent> attempts;  // in order of start
};

// What ran, in order of first start.
std::vector<Job> jobs(const Study& study);

// jobs.csv: one row per attempt, as RFC 4180 wants it (csv.h). Times are seconds since 1970; an
// empty end: none is recorded.
std::string jobs_csv(const std::vector<Job>& jobs);

}  // namespace draftlab

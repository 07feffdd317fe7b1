#include "reports/tables/jobs.h"

#include <map>

#include "base/number_text.h"
#include "reports/text/csv.h"

namespace draftlab {
namespace {

// The names of the runs that each segment is a part of.
std::map<std::string, std::vector<std::string>> runs_of_segments(const Study& study) {
  std::map<std::string, std::vector<std::string>> runs;
  for (const Result& result : study.results) {
    for (size_t i = 0; i < result.segments.size(); ++i) {
      std::string name = result.run;
      if (result.segments.size() > 1) name += ", part " + std::to_string(i + 1);
      runs[result.segments[i]].push_back(std::move(name));
    }
  }
  return runs;
}

std::string name_of(const std::vector<std::string>& runs, const std::string& segment) {
  if (runs.empty()) return "segment " + segment;
  if (runs.size() == 1) return runs.front();
  return runs.front() + ", and " + std::to_string(runs.size() - 1) + " more";
}

}  // namespace

std::vector<Job> jobs(const Study& study) {
  const auto runs = runs_of_segments(study);
  std::vector<Job> jobs;
  std::map<std::string, size_t> job_of;
  for (const WorkerEvent& event : study.events) {
    const auto [entry, added] = job_of.try_emplace(event.segment, jobs.size());
    if (added) {
      const auto found = runs.find(event.segment);
      jobs.push_back(
          {event.segment,
           name_of(found == runs.end() ? std::vector<std::string>() : found->second, event.segment),
           {}});
    }
    jobs[entry->second].attempts.push_back(event);
  }
  return jobs;
}

std::string jobs_csv(const std::vector<Job>& jobs) {
  std::string csv = "segment,runs,attempt,start,end,seconds,threads,outcome\r\n";
  for (const Job& job : jobs) {
    for (size_t i = 0; i < job.attempts.size(); ++i) {
      const WorkerEvent& attempt = job.attempts[i];
      const bool ended = attempt.end != 0;
      csv += job.segment + "," + csv_field(job.name) + "," + std::to_string(i + 1) + "," +
             number_text(attempt.start) + "," + (ended ? number_text(attempt.end) : "") + "," +
             (ended ? number_text(attempt.end - attempt.start) : "") + "," +
             std::to_string(attempt.threads) + "," + csv_field(attempt.outcome) + "\r\n";
    }
  }
  return csv;
}

}  // namespace draftlab

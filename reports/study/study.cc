#include "reports/study/study.h"

#include <cmath>
#include <iterator>
#include <map>

#include "reports/study/company.h"

namespace draftlab {
namespace {

// Runs of different folders may have overlapped too. No folder says on which machine it was, so it
// is taken to be one; F18 tells where it was not.
void find_company(const std::vector<std::vector<WorkerEvent>>& events, Study& study) {
  // Two folders can hold the same segment, each trained by itself.
  const auto key = [](size_t source, const std::string& segment) {
    return std::to_string(source) + " " + segment;
  };
  std::vector<WorkerEvent> all;
  for (size_t i = 0; i < events.size(); ++i) {
    for (WorkerEvent event : events[i]) {
      event.segment = key(i, event.segment);
      all.push_back(std::move(event));
    }
  }
  const std::map<std::string, bool> in_company = segments_in_company(std::move(all));
  auto result = study.results.begin();
  for (size_t i = 0; i < study.sources.size(); ++i) {
    for (size_t run = 0; run < study.sources[i].plan.runs.size(); ++run, ++result) {
      for (const std::string& segment : result->segments) {
        const auto found = in_company.find(key(i, segment));
        if (found != in_company.end() && found->second) result->alone = false;
      }
    }
  }
}

}  // namespace

double budget_seconds(const PlanRecord& plan) {
  const JsonObject* sweep = plan.sweep.if_object();
  const Json* compare = sweep == nullptr ? nullptr : sweep->if_contains("compare");
  const JsonObject* resolved = compare == nullptr ? nullptr : compare->if_object();
  if (resolved == nullptr || !resolved->contains("seconds")) return NAN;
  return json_number(resolved->at("seconds"), "compare.seconds");
}

void add_summary(Study& study) {
  study.summary = summarize(study.results, study.plan.target);
  // Each arm is read at its own end then, and at no other moment.
  if (!std::isnan(budget_seconds(study.plan))) study.summary.equal_seconds = NAN;
}

Study load_study(const RunFolder& folder) { return load_study(std::vector{folder}); }

Study load_study(const std::vector<RunFolder>& folders) {
  Study study;
  study.sources = read_sources(folders);
  study.plan = joined_plan(study.sources);
  std::vector<std::vector<WorkerEvent>> events;
  for (const Source& source : study.sources) {
    PlanRecord plan = source.plan;
    plan.target = study.plan.target;
    std::vector<Result> results = load_results(source.folder, plan);
    for (Result& result : results) result.folder = source.label;
    std::ranges::move(results, std::back_inserter(study.results));
    events.push_back(read_events(source.folder.events()));
    study.events.insert(study.events.end(), events.back().begin(), events.back().end());
  }
  if (study.sources.size() > 1) find_company(events, study);
  add_summary(study);
  return study;
}

}  // namespace draftlab

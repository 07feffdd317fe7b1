#include "reports/study.h"

#include "reports/fairness.h"

namespace draftlab {

Study load_study(const RunFolder& folder) {
  Study study;
  study.plan = read_plan(folder.plan());
  study.store = read_store_facts(study.plan.store_folder);
  study.results = load_results(folder, study.plan);
  study.events = read_events(folder.events());
  study.summary = summarize(study.results, study.plan.target);
  study.findings = check(study);
  return study;
}

}  // namespace draftlab

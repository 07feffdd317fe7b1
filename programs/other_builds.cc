#include "programs/other_builds.h"

#include <algorithm>
#include <map>
#include <ostream>
#include <set>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/terminal_text.h"
#include "record/lives.h"
#include "record/option.h"
#include "record/segment_state.h"
#include "reports/text/words.h"
#include "runner/forget.h"

namespace draftlab {
namespace {

constexpr size_t kMostNamed = 3;  // runs of one build

// "commit abc, Release": what of the other build differs from ours.
std::string differences_of(const Life& life) {
  std::vector<std::string> facts;
  for (const auto& fact : this_build()) {
    const Json* theirs = life.build.if_contains(fact.key());
    if (theirs != nullptr && *theirs == fact.value()) continue;
    facts.push_back(std::string(fact.key()) + " " +
                    (theirs == nullptr ? "unknown" : option_text(*theirs)) + ", now " +
                    option_text(fact.value()));
  }
  return listed(facts);
}

// By segment: the first life in its result that another build lived. Nothing is known of a segment
// without a record of its lives.
std::map<std::string, Life> others(const RunFolder& folder, const PlanRecord& plan) {
  std::map<std::string, Life> others;
  for (const PlannedSegment& segment : plan.segments) {
    const SegmentFolder own(folder, segment.id);
    try {
      for (const Life& life : contributing(read_lives(own.provenance()))) {
        if (!is_of_this_build(life)) others.emplace(segment.id, life);
      }
    } catch (const Error&) {
      others.emplace(segment.id, Life());  // what cannot be read is of no build that we know
    }
  }
  return others;
}

}  // namespace

void tell_other_builds(const RunFolder& folder, const PlanRecord& plan, std::ostream& out) {
  const std::map<std::string, Life> found = others(folder, plan);
  std::map<std::string, std::vector<std::string>> runs_by_build;
  for (const PlannedRun& run : plan.runs) {
    const auto outcome = outcome_on_disk(SegmentFolder(folder, run.segments.back()));
    if (!outcome || !is_result(outcome->kind)) continue;
    for (const std::string& id : run.segments) {
      const auto other = found.find(id);
      if (other == found.end()) continue;
      runs_by_build[differences_of(other->second)].push_back(run.name);
      break;
    }
  }
  for (auto& [build, runs] : runs_by_build) {
    const size_t count = runs.size();
    std::vector<std::string> named(runs.begin(), runs.begin() + std::min(count, kMostNamed));
    if (count > kMostNamed) named.push_back(std::to_string(count - kMostNamed) + " more");
    out << "notice: " << counted(static_cast<int64_t>(count), "run") << " of " << plan.runs.size()
        << (count == 1 ? " is" : " are") << " of another build (" << build << ") and "
        << (count == 1 ? "is" : "are") << " kept: " << printable(joined(named))
        << "; draftlab run --again trains " << (count == 1 ? "it" : "them") << " anew" << std::endl;
  }
}

PlanRecord forget_other_builds(const RunFolder& folder, const PlanRecord& plan, std::ostream& out) {
  std::set<std::string> stale;
  for (const auto& [id, life] : others(folder, plan)) stale.insert(id);
  if (stale.empty()) return plan;
  stale = with_descendants(plan, std::move(stale));
  PlanRecord left = forget(folder, plan, stale);
  out << counted(static_cast<int64_t>(stale.size()), "segment")
      << " of another build, or begun from one, " << (stale.size() == 1 ? "is" : "are")
      << " trained anew" << std::endl;
  return left;
}

}  // namespace draftlab

#include "programs/equal_seconds_timing.h"

#include <filesystem>
#include <map>
#include <ostream>
#include <utility>

#include "base/error.h"
#include "base/number_text.h"
#include "programs/timing_probe.h"
#include "record/timing.h"
#include "runner/interrupt.h"

namespace draftlab {
namespace {

namespace fs = std::filesystem;

Json with_compare(Json content, Json compare) {
  content.as_object()["compare"] = std::move(compare);
  return content;
}

// Of each arm the first segment; arms whose steps take the same time share one.
EqualSeconds timed(const Sweep& sweep, const PlannedStore& store, const RunFolder& place,
                   std::ostream& out) {
  const PlanRecord plan = make_plan(sweep, store);
  std::map<std::string, const PlannedSegment*> segments;
  for (const PlannedSegment& segment : plan.segments) segments[segment.id] = &segment;
  std::vector<TimedArm> arms;
  std::map<std::string, std::string> representative;  // arm by step identity
  std::map<std::string, std::string> stands_for;      // an arm's representative
  for (const PlannedRun& run : plan.runs) {
    const PlannedSegment* segment = segments.at(run.segments.front());
    if (const auto like = stands_for.find(run.arm); like != stands_for.end()) {
      const auto known = representative.find(step_identity(segment->config));
      if (known != representative.end() && known->second == like->second) continue;
      throw Error("arm '" + run.arm +
                  "': its settings differ in more than learning rates, so that their steps take "
                  "different times; at equal seconds give each such setting an arm of its own");
    }
    const auto [known, added] = representative.emplace(step_identity(segment->config), run.arm);
    stands_for[run.arm] = known->second;
    if (added) arms.push_back({run.arm, segment});
  }
  const auto seconds = time_arms(place, plan, arms, out);
  if (!seconds) throw Error("interrupted before the arms' steps were timed; nothing is frozen yet");
  EqualSeconds compare = *sweep.equal_seconds;
  for (const auto& [arm, like] : stands_for) compare.step_seconds[arm] = seconds->at(like);
  if (compare.budget == 0) {
    compare.budget = static_cast<double>(sweep.arms[0].training.steps) *
                     compare.step_seconds.at(sweep.arms[0].name);
  }
  return compare;
}

}  // namespace

Json with_step_seconds(const Sweep& sweep, const PlannedStore& store, const RunFolder& folder,
                       std::ostream& out) {
  if (fs::exists(folder.plan())) {
    const PlanRecord frozen = read_first_phase(folder);
    const JsonObject* content = frozen.sweep.if_object();
    const Json* compare = content == nullptr ? nullptr : content->if_contains("compare");
    if (compare == nullptr) return sweep.content;  // another sweep, which require_same tells
    // So is another budget, or another time of a step, than was frozen.
    const EqualSeconds& asked = *sweep.equal_seconds;
    const EqualSeconds kept = parse_equal_seconds(*compare, folder.plan().string() + ": compare");
    if ((asked.budget != 0 && asked.budget != kept.budget) ||
        (asked.is_resolved() && asked.step_seconds != kept.step_seconds))
      return sweep.content;
    return with_compare(sweep.content, *compare);
  }
  if (sweep.equal_seconds->is_resolved()) return sweep.content;
  const InterruptCounter interrupts;
  const fs::path place = folder.root() / "timing";
  fs::remove_all(place);
  EqualSeconds compare;
  try {
    compare = timed(sweep, store, RunFolder(place), out);
  } catch (...) {
    fs::remove_all(place);
    throw;
  }
  fs::remove_all(place);
  for (const SweepArm& arm : sweep.arms) {
    out << "equal seconds: " << compare.steps(arm.name, "compare") << " steps of " << arm.name
        << " fit " << significant(compare.budget, 3) << " s" << std::endl;
  }
  return with_compare(sweep.content, to_json(compare));
}

}  // namespace draftlab

#include "runner/forget.h"

#include <algorithm>
#include <filesystem>

#include "base/error.h"
#include "runner/worker_lock.h"

namespace draftlab {
namespace {

namespace fs = std::filesystem;

void require_no_worker(const SegmentFolder& segment) {
  if (!worker_lives(segment.lock())) return;
  throw Error(segment.root().string(),
              "a worker still trains this segment; wait until it ends, or stop it");
}

// Renamed first, so that no half of it is ever taken for the whole.
void remove_segment(const SegmentFolder& segment) {
  fs::path away = segment.root();
  away += ".removed";
  fs::remove_all(away);
  if (!fs::exists(segment.root())) return;
  fs::rename(segment.root(), away);
  fs::remove_all(away);
}

}  // namespace

std::set<std::string> with_descendants(const PlanRecord& plan, std::set<std::string> segments) {
  for (const PlannedSegment& segment : plan.segments) {  // parents before children
    if (segments.contains(segment.config.parent)) segments.insert(segment.id);
  }
  return segments;
}

std::set<std::string> own_segments(const PlanRecord& plan, const std::set<std::string>& runs) {
  std::set<std::string> own, others;
  for (const PlannedRun& run : plan.runs)
    (runs.contains(run.name) ? own : others).insert(run.segments.begin(), run.segments.end());
  std::erase_if(own, [&](const std::string& id) { return others.contains(id); });
  return own;
}

PlanRecord forget(const RunFolder& folder, const PlanRecord& plan,
                  const std::set<std::string>& segments) {
  for (const std::string& id : segments) require_no_worker(SegmentFolder(folder, id));
  const bool trials = std::ranges::any_of(plan.runs, [&](const PlannedRun& run) {
    return run.phase == kTrial && std::ranges::any_of(run.segments, [&](const std::string& id) {
             return segments.contains(id);
           });
  });
  // Phases first: without their trials nothing says that they follow.
  for (int64_t phase = plan.phases; trials && phase >= 2; --phase) fs::remove(folder.phase(phase));
  for (const std::string& id : segments) remove_segment(SegmentFolder(folder, id));
  return trials ? read_first_phase(folder) : plan;
}

}  // namespace draftlab

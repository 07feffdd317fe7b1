#include "programs/timing_probe.h"

#include <algorithm>
#include <map>
#include <ostream>
#include <set>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/terminal_text.h"
#include "programs/lone_worker.h"
#include "programs/readiness.h"
#include "record/events.h"
#include "record/timing.h"
#include "reports/study/company.h"
#include "reports/study/probe.h"
#include "reports/text/words.h"
#include "runner/interrupt.h"
#include "runner/memory.h"
#include "runner/scheduler.h"

namespace draftlab {
namespace {

constexpr int kAttempts = 3;          // where something else seems to run
constexpr double kMemoryShare = 0.8;  // of the free memory, for arms that are timed in turn

using Probe = TimedArm;

// Whether a run whose numbers are reported shared the machine.
bool in_company(const RunFolder& folder, const PlanRecord& plan) {
  const auto company = segments_in_company(read_events(folder.events()));
  return std::ranges::any_of(plan.runs, [&](const PlannedRun& run) {
    return run.phase != kTrial && std::ranges::any_of(run.segments, [&](const std::string& id) {
             const auto found = company.find(id);
             return found != company.end() && found->second;
           });
  });
}

std::vector<Probe> lacking(const RunFolder& folder, const PlanRecord& plan) {
  std::map<std::string, const PlannedSegment*> segments;
  std::set<std::string> known;  // step identities
  for (const PlannedSegment& segment : plan.segments) {
    segments[segment.id] = &segment;
    if (std::filesystem::exists(SegmentFolder(folder, segment.id).timing()))
      known.insert(step_identity(segment.config));
  }
  const auto outcomes = read_outcomes(folder, plan);
  const auto done = [&](const std::string& id) {
    const auto found = outcomes.find(id);
    return found != outcomes.end() && found->second.kind == OutcomeKind::kDone;
  };
  std::vector<Probe> probes;
  for (const PlannedRun& run : plan.runs) {
    if (run.phase == kTrial || !std::ranges::all_of(run.segments, done)) continue;
    for (const std::string& id : run.segments) {
      const PlannedSegment* segment = segments.at(id);
      if (known.insert(step_identity(segment->config)).second) probes.push_back({run.arm, segment});
    }
  }
  return probes;
}

std::string names_of(const std::vector<Probe>& group) {
  std::vector<std::string> names;
  for (const Probe& probe : group) names.push_back(printable(probe.arm));
  return joined(names);
}

// Arms that share a forward pass, as many together as the memory holds.
std::vector<std::vector<Probe>> groups_of(const std::vector<Probe>& probes,
                                          const PlanRecord& plan) {
  double tokens = 0;  // of a sequence
  if (const auto& facts = plan.store_facts; facts && facts->records && facts->tokens)
    tokens = static_cast<double>(*facts->tokens) / static_cast<double>(*facts->records);
  std::map<std::string, std::vector<std::vector<Probe>>> groups;  // by forward pass
  std::map<std::string, double> bytes;                            // of the last group
  for (const Probe& probe : probes) {
    const std::string key = forward_identity(probe.segment->config);
    const double needed = worker_memory(probe.segment->config, tokens).total();
    auto& all = groups[key];
    if (all.empty() || bytes[key] + needed > kMemoryShare * available_memory()) {
      all.emplace_back();
      bytes[key] = 0;
    }
    all.back().push_back(probe);
    bytes[key] += needed;
  }
  std::vector<std::vector<Probe>> list;
  for (auto& [key, all] : groups) list.insert(list.end(), all.begin(), all.end());
  return list;
}

// Has one worker measure them all; why it could not, or "".
std::string measure(const RunFolder& folder, const PlanRecord& plan,
                    const std::vector<Probe>& group) {
  std::vector<std::filesystem::path> also;
  for (const auto& [arm, segment] : group) {
    write_task_of(folder, plan, *segment);
    if (segment != group.front().segment) also.push_back(SegmentFolder(folder, segment->id).task());
  }
  return run_lone_worker("time", folder, *group.front().segment, also);
}

// Tells what was measured, or takes it away and says why nothing of it counts.
std::string judge(const RunFolder& folder, const std::vector<Probe>& group, std::ostream& out) {
  std::vector<NamedTiming> timings;
  std::map<std::string, std::vector<NamedTiming>> alike;  // by forward pass
  for (const Probe& probe : group) {
    timings.push_back(
        {probe.arm, read_timing(SegmentFolder(folder, probe.segment->id).timing()).value()});
    alike[forward_identity(probe.segment->config)].push_back(timings.back());
  }
  std::string uneven;
  for (const auto& [key, same] : alike) {
    if (uneven.empty()) uneven = uneven_control(same);
  }
  for (const auto& [arm, segment] : group) {
    if (!uneven.empty()) std::filesystem::remove(SegmentFolder(folder, segment->id).timing());
  }
  if (!uneven.empty()) return uneven;
  for (const NamedTiming& one : timings) {
    out << "timing " << printable(one.name) << " alone: " << step_time_text(step_time(one.timing))
        << " a step" << std::endl;
  }
  return "";
}

// What became of timing a group, tried again while something else seems to run.
struct Timed {
  bool interrupted = false;
  std::string failure;  // the worker's
  std::string uneven;   // why nothing is kept after the last try
};
Timed timed(const RunFolder& folder, const PlanRecord& plan, const std::vector<Probe>& group,
            std::ostream& out) {
  Timed result;
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    result.interrupted = InterruptCounter::count() > 0;
    if (result.interrupted) return result;
    result.failure = measure(folder, plan, group);
    result.interrupted = InterruptCounter::count() > 0;
    if (result.interrupted || !result.failure.empty()) return result;
    result.uneven = judge(folder, group, out);
    if (result.uneven.empty()) break;
  }
  return result;
}

}  // namespace

bool probe_timings(const RunFolder& folder, const PlanRecord& plan, std::ostream& out) {
  if (!in_company(folder, plan)) return true;
  for (const std::vector<Probe>& group : groups_of(lacking(folder, plan), plan)) {
    if (group.size() > 1)
      out << "timing " << group.size() << " arms in turn, step by step" << std::endl;
    const Timed result = timed(folder, plan, group, out);
    if (result.interrupted) return false;
    if (!result.failure.empty()) {
      out << "timing " << names_of(group) << " failed, so their seconds stay those of a shared "
          << "machine; " << printable(result.failure) << std::endl;
    } else if (!result.uneven.empty()) {
      out << "timing " << names_of(group) << ": the machine is busy with something else, since "
          << printable(result.uneven)
          << "; nothing is kept, and their seconds stay those of a shared machine. `draftlab "
             "resume` measures again"
          << std::endl;
    }
  }
  return true;
}

std::optional<std::map<std::string, double>> time_arms(const RunFolder& folder,
                                                       const PlanRecord& plan,
                                                       const std::vector<TimedArm>& arms,
                                                       std::ostream& out) {
  for (const TimedArm& arm : arms) make_folder(SegmentFolder(folder, arm.segment->id).root());
  const Timed result = timed(folder, plan, arms, out);
  if (result.interrupted) return std::nullopt;
  if (!result.failure.empty()) throw Error("timing " + names_of(arms), result.failure);
  if (!result.uneven.empty()) {
    throw Error("timing " + names_of(arms),
                "the machine is busy with something else, since " + result.uneven +
                    "; equal seconds mean nothing here: stop what else runs, and try again");
  }
  std::map<std::string, double> seconds;
  for (const auto& [arm, segment] : arms) {
    seconds[arm] =
        step_time(read_timing(SegmentFolder(folder, segment->id).timing()).value()).seconds();
  }
  return seconds;
}

}  // namespace draftlab

#include "programs/timing_probe.h"

#include <algorithm>
#include <chrono>
#include <ostream>
#include <set>
#include <string>
#include <vector>

#include "base/error.h"
#include "programs/worker_program.h"
#include "record/events.h"
#include "record/timing.h"
#include "reports/study/company.h"
#include "reports/study/probe.h"
#include "runner/interrupt.h"
#include "runner/local_launcher.h"
#include "runner/scheduler.h"
#include "runner/terminal_text.h"

namespace draftlab {
namespace {

constexpr double kGraceSeconds = 10;  // for the step at hand

struct Probe {
  std::string arm;
  const PlannedSegment* segment;
};

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

// Waits for the worker to end; asks it to stop, and then kills it, if the user interrupts.
WorkerExit wait_for(LocalLauncher& launcher) {
  using Clock = std::chrono::steady_clock;
  std::optional<Clock::time_point> asked;
  while (true) {
    if (auto exit = launcher.wait_any(0.25)) return *exit;
    const int interrupts = InterruptCounter::count();
    if (interrupts > 0 && !asked) {
      launcher.ask_to_stop();
      asked = Clock::now();
    }
    const bool late = asked && Clock::now() - *asked > std::chrono::duration<double>(kGraceSeconds);
    if (interrupts > 1 || late) launcher.kill();
  }
}

}  // namespace

bool probe_timings(const RunFolder& folder, const PlanRecord& plan, std::ostream& out) {
  if (!in_company(folder, plan)) return true;
  LocalLauncher launcher(worker_program(), "time");
  for (const auto& [arm, segment] : lacking(folder, plan)) {
    if (InterruptCounter::count() > 0) return false;
    const SegmentFolder segment_folder(folder, segment->id);
    const std::string what = "timing " + printable(arm) + " alone: ";
    std::string failure;
    try {
      // The same bytes, unless the store has moved.
      write_task(segment_folder.task(),
                 {segment->id, segment->config, plan.store_folder, plan.checkpoint_every});
      launcher.start(*segment, segment_folder);
      const WorkerExit exit = wait_for(launcher);
      if (InterruptCounter::count() > 0) return false;
      if (!exit.failure.empty()) failure = "the worker " + exit.failure + ": " + exit.last_line;
      if (failure.empty()) {
        out << what << step_time_text(step_time(read_timing(segment_folder.timing()).value()))
            << " a step" << std::endl;
      }
    } catch (const Error& error) {
      failure = error.what();
    }
    if (!failure.empty()) {
      out << what << "failed, so its seconds stay those of a shared machine; " << printable(failure)
          << std::endl;
    }
  }
  return true;
}

}  // namespace draftlab

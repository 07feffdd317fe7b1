#include "programs/execution.h"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <functional>
#include <iostream>
#include <ostream>

#include "base/error.h"
#include "base/terminal_text.h"
#include "programs/decoding_runs.h"
#include "programs/sweep_store.h"
#include "programs/terminal_answer.h"
#include "programs/timing_probe.h"
#include "programs/worker_program.h"
#include "record/segment_state.h"
#include "reports/checks/checked_study.h"
#include "reports/page/report.h"
#include "reports/text/words.h"
#include "runner/estimate.h"
#include "runner/interrupt.h"
#include "runner/local_launcher.h"
#include "runner/run_clock.h"
#include "runner/run_name.h"
#include "runner/scheduler.h"
#include "runner/sweep.h"
#include "runner/tuning.h"
#include "runner/worker_lock.h"

namespace draftlab {
namespace {

namespace fs = std::filesystem;

constexpr double kGraceSeconds = 60;

void stop_leftovers(const RunFolder& folder, const PlanRecord& plan, std::ostream& out) {
  for (const PlannedSegment& segment : plan.segments) {
    for (const pid_t pid : stop_leftover(SegmentFolder(folder, segment.id).lock(), kGraceSeconds)) {
      out << "stopped process " << pid << ", a worker that a killed run left at work on segment "
          << segment.id << std::endl;
    }
  }
}

int64_t threads_of(const PlanRecord& plan) {
  int64_t threads = 1;
  for (const auto& segment : plan.segments)
    threads = std::max(threads, segment.config.training.threads);
  return threads;
}

// Of the segments without a result; the others' files are there already.
double remaining_disk_bytes(const RunFolder& folder, const PlanRecord& plan) {
  const auto outcomes = read_outcomes(folder, plan);
  double bytes = 0;
  for (const PlannedSegment& segment : plan.segments) {
    const auto outcome = outcomes.find(segment.id);
    if (outcome == outcomes.end() || !is_result(outcome->second.kind))
      bytes += disk_bytes(segment.config);
  }
  return bytes;
}

bool is_last_phase(const PlanRecord& plan) {
  const auto is_trial = [](const PlannedRun& run) { return run.phase == kTrial; };
  return !std::ranges::all_of(plan.runs, is_trial);
}

// Freezes what follows from the trials that have run. False if nothing does.
bool begin_next_phase(const RunFolder& folder, PlanRecord& plan) {
  if (is_last_phase(plan)) return false;
  const Sweep sweep = parse_sweep(plan.sweep, plan.sweep_file);
  const std::optional<PlanRecord> phase =
      next_phase(sweep, built_store(plan.store_folder, plan.store), read_trials(folder, plan));
  if (!phase) {
    std::cout << "every trial of every arm diverged, so there is no setting to run; lower the "
                 "learning rates\n";
    return false;
  }
  for (const TuningDecision& decision : phase->decisions)
    std::cout << "tuning: " << printable(text_of(decision)) << "\n";
  write_next_phase(folder, *phase, plan);
  std::cout << "phase " << plan.phases << ": "
            << counted(static_cast<int64_t>(phase->runs.size()),
                       phase->runs[0].phase == kFinal ? "final run" : "more trial")
            << std::endl;
  return true;
}

}  // namespace

int64_t available_cores() {
  cpu_set_t set;
  return ::sched_getaffinity(0, sizeof set, &set) == 0 ? std::max(1, CPU_COUNT(&set)) : 1;
}

int default_jobs(const PlanRecord& plan) {
  for (const auto& segment : plan.segments) {
    if (segment.config.training.device != "cpu") return 1;
  }
  return static_cast<int>(std::max<int64_t>(1, available_cores() / threads_of(plan)));
}

double free_space(const fs::path& folder) {
  fs::path existing = fs::absolute(folder);
  while (!fs::exists(existing) && existing.has_relative_path()) existing = existing.parent_path();
  std::error_code code;
  const fs::space_info space = fs::space(existing, code);
  if (code) throw Error(existing.string(), "cannot tell how much space is free: " + code.message());
  return static_cast<double>(space.available);
}

void require_free_space(const fs::path& folder, double bytes) {
  const double free = free_space(folder);
  if (bytes <= free) return;
  throw Error(folder.string(), "may need " + bytes_text(bytes) + ", but its volume has " +
                                   bytes_text(free) +
                                   " free; free some, or name a folder on another volume");
}

Execution execute_plan(const RunFolder& folder, const PlanRecord& plan, int jobs, std::ostream& out,
                       bool live) {
  stop_leftovers(folder, plan, out);
  const int64_t threads = threads_of(plan);
  if (jobs * threads > available_cores()) {
    out << "notice: " << jobs << (jobs == 1 ? " worker" : " workers") << " of " << threads
        << (threads == 1 ? " thread" : " threads") << " on " << available_cores()
        << " cores: the seconds of a run will count the others' work too" << std::endl;
  }
  LocalLauncher launcher(worker_program());
  std::function<size_t()> width;  // asked again each time: windows change
  if (live) width = [] { return terminal_width(80); };
  ProgressDisplay progress(plan, folder, jobs, out, width);
  Scheduler scheduler(folder, plan, launcher, progress,
                      {jobs, kGraceSeconds, InterruptCounter::count, run_clock(folder)});
  const ScheduleResult result = scheduler.run();
  if (result.all_finished(plan)) return Execution::kFinished;
  return result.interrupted ? Execution::kInterrupted : Execution::kUnfinished;
}

int execute_and_report(const RunFolder& folder, PlanRecord plan, std::optional<int64_t> jobs,
                       const Reuse& reuse) {
  std::signal(SIGPIPE, SIG_IGN);  // whoever reads our progress may leave; the sweep goes on
  const InterruptCounter interrupts;
  Execution execution;
  bool more = false;
  do {
    link_runs(folder, plan);
    take_finished(reuse, folder, plan, std::cout);
    require_free_space(folder.root(), remaining_disk_bytes(folder, plan));
    execution = execute_plan(folder, plan, jobs ? static_cast<int>(*jobs) : default_jobs(plan),
                             std::cout, ::isatty(STDOUT_FILENO));
    // A user who interrupts in the last step of a phase does not want the next one.
    if (InterruptCounter::count() > 0 && execution == Execution::kFinished && !is_last_phase(plan))
      execution = Execution::kInterrupted;
    more = execution == Execution::kFinished && begin_next_phase(folder, plan);
  } while (more);
  const bool timed =
      execution != Execution::kFinished ||
      (probe_timings(folder, plan, std::cout) && decode_reported_runs(folder, plan, std::cout));
  if (execution == Execution::kInterrupted || !timed) {
    std::cout << "interrupted; "
              << (timed ? "go on with: " : "what is not timed or decoded yet will be by: ")
              << "draftlab resume " << folder.root().string() << std::endl;
  }
  const Study study = checked_study(folder);
  write_report(study, folder.report());
  std::cout << "\n";
  print_answer(study, std::cout);
  std::cout << "\nreport: " << folder.report_page().string() << std::endl;
  if (execution == Execution::kFinished) return timed ? 0 : 1;
  std::cout << "not every run is done: draftlab status " << folder.root().string() << std::endl;
  return 1;
}

}  // namespace draftlab

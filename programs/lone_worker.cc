#include "programs/lone_worker.h"

#include <chrono>
#include <optional>

#include "base/error.h"
#include "programs/worker_program.h"
#include "runner/interrupt.h"
#include "runner/local_launcher.h"

namespace draftlab {
namespace {

constexpr double kGraceSeconds = 10;  // for the step at hand

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

void write_task_of(const RunFolder& folder, const PlanRecord& plan, const PlannedSegment& segment) {
  write_task(SegmentFolder(folder, segment.id).task(),
             {segment.id, segment.config, plan.store_folder, plan.checkpoint_every});
}

std::string run_lone_worker(const std::string& command, const RunFolder& folder,
                            const PlannedSegment& segment,
                            const std::vector<std::filesystem::path>& also) {
  LocalLauncher launcher(worker_program(), command);
  try {
    launcher.start(segment, SegmentFolder(folder, segment.id), also);
    const WorkerExit exit = wait_for(launcher);
    if (!exit.failure.empty()) return "the worker " + exit.failure + ": " + exit.last_line;
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

}  // namespace draftlab

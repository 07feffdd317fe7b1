// Runs that are to be trained again.
#include <iostream>

#include "programs/chosen_runs.h"
#include "programs/command_line.h"
#include "programs/commands.h"
#include "programs/execution.h"
#include "record/segment_state.h"
#include "runner/forget.h"

namespace draftlab {
namespace {

constexpr char kRestartHelp[] =
    "usage: draftlab restart DIR RUN... [--jobs N] [--dry-run]\n\n"
    "Trains these runs anew from their first step, but for what they share with others, with all "
    "else\n"
    "that the plan still lacks, and writes the report. RUN is a run's name, or the beginning of "
    "its\n"
    "name or id.\n\n"
    "  draftlab restart runs/quick 'Muon seed=2'\n";

constexpr char kRetryHelp[] =
    "usage: draftlab retry-failed DIR [--jobs N] [--dry-run]\n\n"
    "Trains the runs that failed again from their first step, with all else that the plan still "
    "lacks,\n"
    "and writes the report. A run that diverged is a result and stays. (`draftlab resume DIR` goes "
    "on\n"
    "with failed runs from their last checkpoint.)\n\n"
    "  draftlab retry-failed runs/quick\n";

// The caller holds the folder's lock.
int train_again(const CommandLine& line, const RunFolder& folder, PlanRecord plan,
                const ChosenRuns& chosen) {
  const auto jobs = line.whole_number("jobs", 1, 10000);
  if (line.given("dry-run")) {
    std::cout << text_of(chosen, plan, "would be trained anew");
    return 0;
  }
  plan = forget(folder, plan, chosen.segments);
  std::cout << text_of(chosen, plan, "to train anew");
  return resume_plan(folder, plan, jobs);
}

void add_options(CommandLine& line) {
  line.option("jobs", "N",
              "workers at once; never changes a result; default: cores / threads of a worker");
  line.flag("dry-run", "only say what would be trained");
}

bool has_failed(const RunFolder& folder, const PlannedRun& run) {
  for (const std::string& id : run.segments) {
    const auto outcome = outcome_on_disk(SegmentFolder(folder, id));
    if (outcome && outcome->kind == OutcomeKind::kFailed) return true;
  }
  return false;
}

}  // namespace

int restart_command(const Words& words) {
  CommandLine line(kRestartHelp);
  line.argument("DIR");
  line.arguments("RUN");
  add_options(line);
  if (!line.parse(words)) return 0;
  const RunFolder folder(line.text("DIR"));
  const auto lock = lock_runs(folder, line.given("dry-run"));
  const PlanRecord plan = read_plan(folder);
  return train_again(line, folder, plan, choose_runs(plan, line.texts("RUN")));
}

int retry_failed_command(const Words& words) {
  CommandLine line(kRetryHelp);
  line.argument("DIR");
  add_options(line);
  if (!line.parse(words)) return 0;
  const RunFolder folder(line.text("DIR"));
  const auto lock = lock_runs(folder, line.given("dry-run"));
  const PlanRecord plan = read_plan(folder);
  ChosenRuns failed;
  for (const PlannedRun& run : plan.runs) {
    if (!has_failed(folder, run)) continue;
    failed.names.insert(run.name);
    for (const std::string& id : run.segments) {
      const auto outcome = outcome_on_disk(SegmentFolder(folder, id));
      if (!outcome || !is_result(outcome->kind)) failed.segments.insert(id);
    }
  }
  if (failed.names.empty()) {
    std::cout << "no run of " << folder.root().string() << " failed\n";
    return 0;
  }
  return train_again(line, folder, plan, failed);
}

}  // namespace draftlab

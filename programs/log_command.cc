#include <iostream>

#include "base/error.h"
#include "base/file.h"
#include "programs/command_line.h"
#include "programs/commands.h"
#include "runner/run_name.h"

namespace draftlab {
namespace {

constexpr char kHelp[] =
    "usage: draftlab log DIR RUN\n\n"
    "What the workers of a run printed, all their lives one after another, segment by segment. RUN "
    "is "
    "a\n"
    "run's name, or the beginning of its name or id.\n\n"
    "  draftlab log runs/quick 'Muon seed=2'\n";

}  // namespace

int log_command(const Words& words) {
  CommandLine line(kHelp);
  line.argument("DIR");
  line.argument("RUN");
  if (!line.parse(words)) return 0;
  const RunFolder folder(line.text("DIR"));
  const PlanRecord plan = read_plan(folder);
  const PlannedRun& run = find_run(plan, line.text("RUN"));
  bool any = false;
  for (const std::string& id : run.segments) {
    const SegmentFolder segment(folder, id);
    if (!std::filesystem::exists(segment.log())) continue;
    any = true;
    std::cout << "== " << segment.log().string() << "\n" << read_file(segment.log());
  }
  if (!any) throw Error(run.name, "has no log: no worker has begun it");
  return 0;
}

}  // namespace draftlab

#include <iostream>

#include "programs/chosen_runs.h"
#include "programs/command_line.h"
#include "programs/commands.h"
#include "reports/page/report.h"
#include "runner/forget.h"

namespace draftlab {
namespace {

constexpr char kHelp[] =
    "usage: draftlab forget DIR RUN... [--dry-run]\n\n"
    "Takes away what these runs have computed, but for what they share with others, and writes "
    "the\n"
    "report again. `draftlab resume DIR` trains them anew. A forgotten trial takes the phases "
    "that\n"
    "followed from it with it. RUN is a run's name, or the beginning of its name or id.\n\n"
    "  draftlab forget runs/quick 'Muon seed=2'\n";

}  // namespace

int forget_command(const Words& words) {
  CommandLine line(kHelp);
  line.argument("DIR");
  line.arguments("RUN");
  line.flag("dry-run", "only say what would go");
  if (!line.parse(words)) return 0;
  const RunFolder folder(line.text("DIR"));
  const auto lock = lock_runs(folder, line.given("dry-run"));
  const PlanRecord plan = read_plan(folder);
  const ChosenRuns chosen = choose_runs(plan, line.texts("RUN"));
  if (line.given("dry-run")) {
    std::cout << text_of(chosen, plan, "would be removed");
    return 0;
  }
  forget(folder, plan, chosen.segments);
  std::cout << text_of(chosen, plan, "removed");
  write_report(folder);
  return 0;
}

}  // namespace draftlab

#include <iostream>

#include "programs/command_line.h"
#include "programs/commands.h"
#include "record/plan.h"
#include "runner/status.h"
#include "runner/terminal_text.h"

namespace draftlab {
namespace {

constexpr char kHelp[] =
    "usage: draftlab status DIR\n\n"
    "Where each run stands, read from the folder; also while it runs and after a crash. A run "
    "whose worker\n"
    "has vanished is interrupted, not running.\n\n"
    "  draftlab status runs/quick\n"
    "  watch draftlab status runs/quick\n";

}  // namespace

int status_command(const Words& words) {
  CommandLine line(kHelp);
  line.argument("DIR");
  if (!line.parse(words)) return 0;
  const RunFolder folder(line.text("DIR"));
  std::string broken;
  const PlanRecord plan = read_plan(folder, broken);
  std::cout << text_of(read_status(folder, plan));
  for (const std::string& change : plan.changes) std::cout << "set " << printable(change) << "\n";
  if (broken.empty()) return 0;
  std::cout << "a later phase cannot be read, and its runs are not shown: " << printable(broken)
            << "\n";
  return 1;
}

}  // namespace draftlab

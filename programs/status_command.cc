#include <iostream>

#include "programs/command_line.h"
#include "programs/commands.h"
#include "record/plan.h"
#include "runner/status.h"

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
  std::cout << text_of(read_status(folder, read_plan(folder)));
  return 0;
}

}  // namespace draftlab

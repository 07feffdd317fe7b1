#include <iostream>

#include "programs/command_line.h"
#include "programs/commands.h"
#include "reports/report.h"

namespace draftlab {
namespace {

constexpr char kHelp[] =
    "usage: draftlab report DIR\n\n"
    "Writes DIR/report/index.html, runs.csv and evaluations.csv again from what is there; of an "
    "unfinished\n"
    "folder too.\n\n"
    "  draftlab report runs/quick\n";

}  // namespace

int report_command(const Words& words) {
  CommandLine line(kHelp);
  line.argument("DIR");
  if (!line.parse(words)) return 0;
  const RunFolder folder(line.text("DIR"));
  write_report(folder);
  std::cout << folder.report_page().string() << "\n";
  return 0;
}

}  // namespace draftlab

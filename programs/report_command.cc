#include <iostream>

#include "base/terminal_text.h"
#include "programs/command_line.h"
#include "programs/commands.h"
#include "reports/checks/checked_study.h"
#include "reports/page/report.h"
#include "reports/tables/tensorboard.h"

namespace draftlab {
namespace {

constexpr char kHelp[] =
    "usage: draftlab report DIR... [--out DIR] [--each] [--tensorboard DIR]\n\n"
    "Writes index.html and its tables (docs/csv.md) into DIR/report again from what is there; of "
    "an unfinished\n"
    "folder too. Several folders become one report: arms that have the same name in two of them "
    "are told apart\n"
    "by the folder's, and the checks say whether the folders belong together. With --each every "
    "folder gets\n"
    "a report of its own below --out, and an index.html links to them with what each answers.\n\n"
    "  draftlab report runs/quick\n"
    "  draftlab report runs/adamw runs/muon --out reports/adamw_muon\n"
    "  draftlab report runs/study/* --each --out reports/study\n"
    "  draftlab report runs/quick --tensorboard events/quick\n";

}  // namespace

int report_command(const Words& words) {
  CommandLine line(kHelp);
  line.arguments("DIR");
  line.option("out", "DIR", "where the report goes; default: the folder's own DIR/report");
  line.flag("each", "a report for each folder, and one page that links to them");
  line.option("tensorboard", "DIR",
              "write TensorBoard event files there too, a folder for each run");
  if (!line.parse(words)) return 0;
  std::vector<RunFolder> folders;
  for (const std::string& folder : line.texts("DIR")) folders.emplace_back(folder);
  const auto out = line.optional_text("out"), tensorboard = line.optional_text("tensorboard");
  if (folders.size() > 1 && !out)
    throw UsageError("--out DIR is missing: where shall the report of several folders go?");
  const bool each = line.given("each");
  if (each && !out) throw UsageError("--each needs --out DIR: where shall the reports go?");
  if (each && tensorboard) throw UsageError("--each and --tensorboard do not go together");
  if (out) require_report_place(*out);
  if (tensorboard) require_outside_results(*tensorboard);

  if (each) {
    write_reports(folders, *out);
    std::cout << (std::filesystem::path(*out) / "index.html").string() << "\n";
    return 0;
  }
  const Study study = checked_study(folders);
  const std::filesystem::path place = out ? std::filesystem::path(*out) : folders[0].report();
  write_report(study, place);
  std::cout << (place / "index.html").string() << "\n";
  if (!tensorboard) return 0;
  for (const std::string& run : write_tensorboard(study, *tensorboard))
    std::cout << "not in TensorBoard: " << printable(run) << ", whose log cannot be read\n";
  std::cout << *tensorboard << "\n";
  return 0;
}

}  // namespace draftlab

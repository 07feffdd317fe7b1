#include <iostream>

#include "base/error.h"
#include "base/terminal_text.h"
#include "programs/command_line.h"
#include "programs/commands.h"
#include "reports/checks/checked_study.h"
#include "reports/page/report.h"
#include "reports/tables/exported_study.h"
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
    "a report of its own below --out, and an index.html links to them with what each answers.\n"
    "DIR may also be the tables of a report without the runs: the page and all tables are made "
    "anew from\n"
    "study.json, runs.csv, evaluations.csv, updates.csv and jobs.csv, in place without --out.\n\n"
    "  draftlab report runs/quick\n"
    "  draftlab report runs/adamw runs/muon --out reports/adamw_muon\n"
    "  draftlab report runs/study/* --each --out reports/study\n"
    "  draftlab report runs/quick --tensorboard events/quick\n";

// True for one folder of exported tables. Throws Error where they are not enough.
bool require_result_folders(const std::vector<RunFolder>& folders, bool tensorboard) {
  for (const RunFolder& folder : folders) {
    require_result_or_exported_study(folder.root());
    if (!holds_exported_study(folder.root())) continue;
    if (folders.size() > 1)
      throw Error(folder.root().string(),
                  "holds the tables of a report; several folders become one report from their "
                  "results alone: name the result folders, or give --each");
    if (tensorboard)
      throw Error(folder.root().string(),
                  "holds the tables of a report, which do not have every step; TensorBoard files "
                  "are made from the result folder");
    return true;
  }
  return false;
}

}  // namespace

int report_command(const Words& words) {
  CommandLine line(kHelp);
  line.arguments("DIR");
  line.option("out", "DIR", "where the report goes; default: DIR/report, or of tables DIR itself");
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
  const bool exported = require_result_folders(folders, tensorboard.has_value());
  const Study study = exported ? read_exported_study(folders[0].root()) : checked_study(folders);
  const std::filesystem::path place = out        ? std::filesystem::path(*out)
                                      : exported ? folders[0].root()
                                                 : folders[0].report();
  write_report(study, place);
  std::cout << (place / "index.html").string() << "\n";
  if (!tensorboard) return 0;
  for (const std::string& run : write_tensorboard(study, *tensorboard))
    std::cout << "not in TensorBoard: " << printable(run) << ", whose log cannot be read\n";
  std::cout << *tensorboard << "\n";
  return 0;
}

}  // namespace draftlab

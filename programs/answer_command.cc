#include <iostream>

#include "base/terminal_text.h"
#include "programs/command_line.h"
#include "programs/commands.h"
#include "programs/terminal_answer.h"
#include "reports/checks/checked_study.h"
#include "reports/page/opening_text.h"

namespace draftlab {
namespace {

constexpr char kHelp[] =
    "usage: draftlab answer DIR... [--json]\n\n"
    "Says what a result folder answers so far: the headline of its report, every arm's difference "
    "to the reference\n"
    "with the interval that goes with its claim, and the checks that speak against it. DIR may be "
    "unfinished; several\n"
    "folders are answered as one study. Nothing is written.\n\n"
    "  draftlab answer runs/quick\n"
    "  draftlab answer runs/three runs/five --json\n";

}  // namespace

void print_answer(const Study& study, std::ostream& out) {
  out << opening_text(opening(study), terminal_width(100));
}

int answer_command(const Words& words) {
  CommandLine line(kHelp);
  line.arguments("DIR");
  line.flag("json", "as one JSON object: headline, arms, against, checks");
  if (!line.parse(words)) return 0;
  std::vector<RunFolder> folders;
  for (const std::string& folder : line.texts("DIR")) folders.emplace_back(folder);
  const Study study = checked_study(folders);
  if (line.given("json")) {
    std::cout << pretty(to_json(opening(study)));
  } else {
    print_answer(study, std::cout);
  }
  return 0;
}

}  // namespace draftlab

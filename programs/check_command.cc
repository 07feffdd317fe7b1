#include <algorithm>
#include <iostream>

#include "base/terminal_text.h"
#include "programs/command_line.h"
#include "programs/commands.h"
#include "reports/checks/checked_study.h"
#include "reports/checks/fairness.h"
#include "reports/study/comparison.h"
#include "reports/study/study.h"

namespace draftlab {
namespace {

// 1 and 2 mean the same in every command.
constexpr int kWarned = 3, kRefused = 4;

constexpr char kHelp[] =
    "usage: draftlab check DIR...\n"
    "       draftlab check --list\n\n"
    "Looks for what makes the comparison in DIR unfair and prints what it found, refusals first: "
    "the check, how\n"
    "grave it is, and what to do. A check that refuses allows no winner between the arms it "
    "concerns. DIR may\n"
    "be unfinished. Several folders are checked as one comparison. docs/fairness.md explains every "
    "check.\n\n"
    "Exit status: 0 no check warns or refuses, 3 one warns, or refuses some comparisons (by time, "
    "or of some\n"
    "arms), 4 none is left: no two arms may be compared.\n\n"
    "  draftlab check runs/quick\n"
    "  draftlab check runs/adamw runs/muon\n"
    "  draftlab check --list\n";

void print_kinds() {
  for (const CheckKind& kind : check_kinds()) {
    std::cout << kind.id << "  " << padded(severity_name(kind.severity), 8) << "  " << kind.question
              << "\n";
    if (kind.run == nullptr) std::cout << padded("", 15) << "never: " << kind.excluded << "\n";
  }
}

}  // namespace

int check_command(const Words& words) {
  CommandLine line(kHelp);
  line.flag("list", "all checks, the gravest each can be, and what it asks");
  // The list is of no folder.
  const bool list = std::find(words.begin(), words.end(), "--list") != words.end();
  if (!list) line.arguments("DIR");
  if (!line.parse(words)) return 0;
  if (list) {
    print_kinds();
    return 0;
  }
  std::vector<RunFolder> folders;
  for (const std::string& folder : line.texts("DIR")) folders.emplace_back(folder);
  const Study study = checked_study(folders);
  const std::vector<Comparison> pairs =
      comparisons(study, study.summary.chosen_by, View::kEqualSteps);
  const bool some_left =
      std::ranges::any_of(pairs, [](const Comparison& pair) { return pair.refusal == nullptr; });
  int status = 0;
  for (Severity severity : {Severity::kRefuse, Severity::kWarn, Severity::kInform}) {
    for (const FairnessFinding& finding : study.findings) {
      if (finding.severity != severity) continue;
      if (severity != Severity::kInform) {
        const bool refused = severity == Severity::kRefuse && !finding.by_time_only;
        status = std::max(status, refused && !some_left ? kRefused : kWarned);
      }
      std::cout << finding.id << "  " << padded(severity_name(severity), 8) << finding.sentence
                << "\n";
    }
  }
  std::cout << counts_text(study.findings) << "\n";
  return status;
}

}  // namespace draftlab
